"""Reports of steps to a router that keeps up, and to one that does not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.protocol.worker_messages import Finish, ReportsTaken, SequenceDelta, SequenceExtras
from cactus_actors.router.state.token_texts import split_token_texts
from cactus_actors.workers.report_window import MAX_HELD_STEPS, ReportWindow

WORDS = ["a", "", "bé", "long ", "\n", "z"]


def delta(position: int, *texts: str, dispatch: int = 1, **others: object) -> SequenceDelta:
    """A delta with one token per text."""
    cuts = [len("".join(texts[: place + 1])) for place in range(len(texts) - 1)]
    ids = [100 + position + place for place in range(len(texts))]
    measures = [float(token_id) for token_id in ids]
    text = "".join(texts)
    return SequenceDelta(dispatch, position, ids, text, measures, measures, cuts=cuts, **others)  # type: ignore[arg-type]


def report(reporting: ReportWindow) -> list[SequenceDelta]:
    deltas = reporting.take()
    reporting.on_sent()
    return deltas


def fill(reporting: ReportWindow) -> None:
    """Send reports without acknowledgements until steps are held back."""
    while reporting.may_report:
        report(reporting)


def test_each_step_is_reported_separately_while_the_router_keeps_up() -> None:
    reporting = ReportWindow(max_ahead=8)
    for position in range(100):
        assert reporting.may_step
        assert reporting.may_report
        step = [delta(position, "x"), delta(position, "y", dispatch=2)]
        reporting.hold_step(step)
        assert report(reporting) == step
        reporting.on_taken(ReportsTaken(position + 1, 8))


def test_steps_are_reported_together_until_a_sequence_ends() -> None:
    reporting = ReportWindow(max_ahead=0, steps_together=4)
    assert reporting.may_report, "a heartbeat waits for nothing"
    for position in range(4):
        assert reporting.may_step
        assert reporting.may_report == (position == 0)
        reporting.hold_step([delta(position, "x"), delta(position, "y", dispatch=2)])
    assert [it.token_ids for it in report(reporting)] == [[100, 101, 102, 103]] * 2
    reporting.hold_step([delta(4, "x")])
    assert not reporting.may_report
    reporting.hold_step([delta(5, "x", finish=Finish("stop"))])
    assert [it.finish for it in report(reporting)] == [Finish("stop")]
    reporting.hold_step([delta(4, "y", dispatch=2)])
    assert not reporting.may_report


def test_a_report_without_the_deltas_of_aborted_sequences_waits_for_nothing() -> None:
    reporting = ReportWindow(max_ahead=0, steps_together=4)
    reporting.hold_step([delta(0, "x"), delta(0, "y", dispatch=2)])
    for number in (1, 2):
        assert not reporting.may_report
        reporting.drop(number)
    assert reporting.may_report, "the router hears of the free slots"


def test_a_slow_router_gets_joined_steps_and_then_the_worker_waits() -> None:
    reporting = ReportWindow(max_ahead=8)
    fill(reporting)
    reports = []
    position = 0
    while reporting.may_step:
        reporting.hold_step([delta(position, "x")])
        position += 1
        if reporting.may_report:
            reports.append(report(reporting))
    # Two more are sent, of eight steps each, and the next eight steps are held.
    assert [[len(it.token_ids) for it in deltas] for deltas in reports] == [[MAX_HELD_STEPS]] * 2
    assert position == 3 * MAX_HELD_STEPS
    reporting.on_taken(ReportsTaken(8, 8))
    assert reporting.may_report
    assert reporting.may_step
    assert [it.position for it in report(reporting)] == [2 * MAX_HELD_STEPS]
    assert not reporting.holds_deltas


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), min_size=1, max_size=MAX_HELD_STEPS))
def test_joined_tokens_keep_their_texts_and_measures(steps: list[list[str]]) -> None:
    reporting = ReportWindow(max_ahead=4)
    position = 0
    for texts in steps:
        reporting.hold_step([delta(position, *texts)])
        position += len(texts)
    [merged] = reporting.take()
    texts = [text for step in steps for text in step]
    assert merged == delta(0, *texts)
    assert split_token_texts(merged.text, position, merged.cuts) == texts


def test_a_delta_without_cuts_has_all_its_text_at_its_last_token() -> None:
    reporting = ReportWindow(max_ahead=4)
    reporting.hold_step([SequenceDelta(1, 0, [5, 6], "ab", [0.1, 0.2], [-0.1, -0.2])])
    reporting.hold_step([delta(2, "c")])
    [merged] = reporting.take()
    assert split_token_texts(merged.text, 3, merged.cuts) == ["", "ab", "c"]


def test_the_end_of_a_sequence_is_in_the_joined_delta() -> None:
    reporting = ReportWindow(max_ahead=4)
    end = Finish("stop")
    reporting.hold_step([delta(0, "a")])
    reporting.hold_step([delta(1, "b", finish=end)])
    assert reporting.take() == [delta(0, "a", "b", finish=end)]


def test_deltas_with_more_than_answer_tokens_are_not_joined() -> None:
    apart = [
        delta(1, "b", extras=SequenceExtras(mirostat_mu=3.0)),
        delta(2, "c", reasoning="hm"),
        delta(3, "d", reasoning_flags=[1]),
        SequenceDelta(1, 4, [], "rest", [], [], finish=Finish("length")),
    ]
    reporting = ReportWindow(max_ahead=4)
    for it in [delta(0, "a"), *apart]:
        reporting.hold_step([it])
    assert reporting.take() == [delta(0, "a"), *apart]


def test_an_unlimited_worker_reports_every_step() -> None:
    reporting = ReportWindow(max_ahead=0)
    for position in range(1000):
        reporting.hold_step([delta(position, "x")])
        assert reporting.may_report
        assert len(report(reporting)[0].token_ids) == 1


def test_a_new_session_begins_without_unacknowledged_reports() -> None:
    reporting = ReportWindow(max_ahead=4)
    fill(reporting)
    reporting.hold_step([delta(0, "a")])
    reporting.on_taken(ReportsTaken(1, 2))
    reporting.reset()
    assert reporting.may_report
    assert not reporting.holds_deltas
    for _ in range(3):
        report(reporting)
    assert not reporting.may_report


def test_held_deltas_of_an_aborted_dispatch_are_dropped() -> None:
    window = ReportWindow(4)
    window.hold_step([SequenceDelta(1, 0, [5], "a", [0.1], [-0.1]), SequenceDelta(2, 0, [6], "b", [0.1], [-0.1])])
    window.drop(1)
    window.drop(3)
    assert [delta.dispatch_id for delta in window.take()] == [2]
