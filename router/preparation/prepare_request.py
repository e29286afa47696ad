"""Prepares a Submit: prompt to token ids, options to parameters, tools and structured output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from cactus_actors.api.field_names import errors_name_fields_as_given, option_names
from cactus_actors.api.option_rules import given_options, structure_of
from cactus_actors.api.params import JobPolicy, resolve_options
from cactus_actors.api.profiles import PROFILES, Profile
from cactus_actors.api.reasoning_options import reasoning_request
from cactus_actors.protocol.block_hashes import PictureSpan, block_hashes, picture_spans
from cactus_actors.protocol.errors import ContextExceeded, InvalidRequest, ModelNotFound
from cactus_actors.protocol.exact_integers import MAX_EXACT
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.pictures import PreparedPicture
from cactus_actors.protocol.sampling_params import ReasoningParams, SamplingParams
from cactus_actors.protocol.worker_messages import CloudRequest
from cactus_actors.router.preparation.conversation import prepare_conversation
from cactus_actors.router.preparation.length_limits import check_length
from cactus_actors.router.preparation.logit_bias import logit_bias
from cactus_actors.router.preparation.media_prompts import check_images, media_prompt
from cactus_actors.router.preparation.picture_contents import PictureContents
from cactus_actors.router.preparation.prompt_model import PromptModel
from cactus_actors.router.preparation.prompts import filling_ids, prompt_ids
from cactus_actors.router.preparation.reasoning_params import (
    check_form_beside_tools,
    check_prompt,
    grammar_after,
    reasoning_params,
)
from cactus_actors.router.preparation.request_pictures import request_pictures
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.text.chat_prompt import ChatPrompt
from cactus_actors.tools.markup_table import markup_named
from cactus_actors.tools.tool_offer import ToolOffer, tool_offer_of

MAX_MODEL_NAME = 128


class _Question(NamedTuple):
    """The prompt for the local model and for a cloud; `prompt_text` is echoed before the answer."""

    prompt: ChatPrompt
    request: CloudRequest
    offer: ToolOffer = ToolOffer()
    prompt_text: str | None = None
    is_continued: bool = False
    pictures: tuple[PreparedPicture, ...] = ()

    @property
    def ids(self) -> list[int]:
        return self.prompt.ids


def prepare(submit: Submit, model: PromptModel, contents: PictureContents | None = None) -> PreparedRequest:
    """The job of `submit`, ready to run; `contents` has its pictures, by default only those of data URLs.

    A service of one model accepts any valid model name. Raises ModelNotFound, and InvalidRequest and its
    subclasses, with the field in `param` as the request named it.
    """
    with errors_name_fields_as_given(option_names(submit.options)):
        return _prepared(submit, model, contents or PictureContents())


def _prepared(submit: Submit, model: PromptModel, contents: PictureContents) -> PreparedRequest:
    if len(submit.model or "") > MAX_MODEL_NAME:
        raise ModelNotFound(f"no model {(submit.model or '')[:MAX_MODEL_NAME]!r}...", param="model")
    if not 0 <= submit.choice <= MAX_EXACT:  # workers store it in 64 unsigned bits
        raise InvalidRequest(f"choice must be between 0 and {MAX_EXACT}, got {submit.choice}", param="choice")
    contents.check_frames(submit)
    profile = PROFILES[submit.profile or "cactus"]
    given = given_options(submit.options)
    question = _question(submit, given, profile, model, contents)
    spans = _spans(question, model)
    if len(question.ids) >= model.max_context:
        raise ContextExceeded(
            f"the prompt has {len(question.ids)} tokens and the context {model.max_context}",
            param="prompt" if submit.messages is None else "messages",
        )
    context_left = model.max_context - len(question.ids)
    params, policy = resolve_options(
        submit.options,
        context_left=context_left,
        profile=profile,
        # OpenAI's chat penalises answer tokens only; a native request names no profile.
        penalise_prompt=submit.messages is None or submit.profile is None,
    )
    grammar = _grammar(submit, given, question.offer, model)
    is_whole = bool(grammar) and not question.offer.is_strict
    tool_markup = _tool_markup(submit, question.offer, model)
    reasoning = None
    if submit.messages is not None:
        reasoning = reasoning_params(
            reasoning_request(given),
            question.prompt,
            model,
            has_grammar=is_whole,
            has_tools=question.offer.tools is not None,
        )
        is_call = question.offer.is_forced or question.offer.is_strict
        grammar = grammar_after(grammar, question.prompt, model, is_call=is_call)
    params = msgspec.structs.replace(
        params,
        max_tokens=0 if submit.task == "embed" else params.max_tokens,
        logit_bias=logit_bias(given.get("logit_bias", ()), model.tokenizer),
        visible_tokens=_visible_tokens(tool_markup is not None, reasoning, model),
        reasoning=reasoning,
    )
    refusal = _cloud_refusal(submit, given, params, question)
    return PreparedRequest(
        prompt_ids=question.ids,
        params=params,
        policy=policy if refusal is None else msgspec.structs.replace(policy, allow_cloud=False),
        request=question.request,
        model=submit.model or model.name,
        block_hashes=_block_hashes(question.ids, params, policy, spans),
        task=submit.task,
        choice=submit.choice,
        grammar=grammar,
        tool_markup=tool_markup,
        single_call=not given.get("parallel_tool_calls", True),
        selected_tools=question.offer.selected,
        prompt_text=question.prompt_text,
        cloud_refusal=refusal,
        ends_context=profile.tells_model_length and params.max_tokens == context_left,
        tools=question.offer.readable,
        pictures=list(question.pictures),
        picture_spans=spans,
    )


def _tool_markup(submit: Submit, offer: ToolOffer, model: PromptModel) -> str | None:
    """The markup for calls and marks in the answer; None if the answer is plain text."""
    name = model.tool_markup or "json"
    is_marked = submit.messages is not None and markup_named(name).marks_every_text
    return name if offer.tools or is_marked else None


def _question(
    submit: Submit, given: dict[str, Any], profile: Profile, model: PromptModel, contents: PictureContents
) -> _Question:
    if submit.prompt is not None and submit.messages is not None:
        raise InvalidRequest("prompt and messages were both given; send one", param="messages")
    check_images(submit)
    if submit.messages is not None:
        return _chat_question(submit, given, profile, model, contents)
    if submit.tools is not None:
        raise InvalidRequest("tools go with messages, not with a prompt", param="tools")
    if submit.prompt is None:
        raise InvalidRequest("prompt is required", param="prompt")
    # A call that is forced needs tools.
    tool_offer_of(None, "", given, structure=structure_of(given), default_top_k=profile.tool_rag_top_k)
    check_prompt(given)
    if submit.images:
        shown = media_prompt(submit.prompt, submit.images, model, contents)
        return _Question(
            ChatPrompt(shown.ids, "answer"),
            CloudRequest(prompt=shown.text),
            prompt_text=shown.text if given.get("echo", False) else None,
            pictures=shown.pictures,
        )
    is_filled_in = "suffix" in given
    ids = filling_ids(submit.prompt, given["suffix"], model) if is_filled_in else prompt_ids(submit.prompt, model)
    text = submit.prompt
    if not isinstance(text, str):
        text = model.tokenizer.decode(prompt_ids(text, model))
    echoed = text if given.get("echo", False) else None
    return _Question(ChatPrompt(ids, "answer"), CloudRequest(prompt=text), prompt_text=echoed)


def _chat_question(
    submit: Submit, given: dict[str, Any], profile: Profile, model: PromptModel, contents: PictureContents
) -> _Question:
    for name in ("echo", "suffix"):
        if given.get(name, False) is not False:
            raise InvalidRequest(f"{name} goes with a prompt, not with messages", param=name)
    conversation = prepare_conversation(submit.messages or [], given, model)
    check_length(submit.tools, "tools", model)
    offer = tool_offer_of(
        submit.tools,
        conversation.question,
        given,
        structure=structure_of(given),
        default_top_k=profile.tool_rag_top_k,
    )
    check_form_beside_tools(structure_of(given), offer, model)
    asked = reasoning_request(given)
    check_length(asked.variables, "chat_template_kwargs", model)
    pictures = request_pictures(conversation.pictures, model, contents)
    prompt = model.chat_prompt(
        [msgspec.to_builtins(turn) for turn in conversation.turns],
        offer.tools,
        answer_begins=conversation.answer_begins,
        answer_reasoning=conversation.answer_reasoning,
        thinking=asked.enabled,
        needs_switch="prompt_mode" in given,
        variables=asked.variables,
        pictures=pictures,
    )
    return _Question(
        prompt,
        CloudRequest(messages=conversation.turns, tools=offer.tools, tool_markup=model.tool_markup or "json"),
        offer,
        prompt_text=conversation.answer_begins or None,
        is_continued=bool(conversation.answer_begins or conversation.answer_reasoning),
        pictures=tuple(one.picture for one in pictures),
    )


def _visible_tokens(
    has_tool_marks: bool, reasoning: ReasoningParams | None, model: PromptModel
) -> tuple[tuple[int, str], ...]:
    """The control tokens that are rendered as text: those of calls and reasoning that the answer may contain."""
    of_tools = model.tool_tokens if has_tool_marks else ()
    of_reasoning = model.reasoning.tokens if model.reasoning is not None and reasoning is not None else ()
    return tuple(dict.fromkeys((*of_tools, *of_reasoning)))


def _grammar(submit: Submit, given: dict[str, Any], offer: ToolOffer, model: PromptModel) -> str:
    if structure_of(given) is None and not (offer.is_forced or offer.is_strict):
        return ""
    from cactus_actors.structured import compile_request, try_grammar  # most jobs need no parser of grammars

    options = msgspec.structs.replace(submit.options, grammar=given.get("grammar"))
    if offer.is_forced:  # there is no text, whose form it could be
        options = msgspec.structs.replace(options, json_schema=None, response_format=None)
    grammar = compile_request(
        options,
        model.tokenizer,
        tools=(offer.readable or offer.callable) if offer.is_strict else offer.callable,
        markup=model.tool_markup,
        force_tools=offer.is_forced,
        parallel_tool_calls=given.get("parallel_tool_calls", True),
        strict_tools=offer.is_strict,
        reasoning=None if model.reasoning is None else model.reasoning.markup,
    )
    try_grammar(grammar, model.tokenizer)
    return grammar


def _spans(question: _Question, model: PromptModel) -> tuple[PictureSpan, ...]:
    if not question.pictures or model.pictures is None:
        return ()
    return picture_spans(question.ids, model.pictures.config.image_token_id, question.pictures)


def _block_hashes(
    ids: list[int], params: SamplingParams, policy: JobPolicy, spans: Sequence[PictureSpan]
) -> tuple[int, ...]:
    return block_hashes(ids, policy.cache_salt, spans) if params.cache_prompt else ()


def _cloud_refusal(submit: Submit, given: dict[str, Any], params: SamplingParams, question: _Question) -> str | None:
    """The part of the request that a cloud could not do; None if it could answer."""
    form = structure_of(given)
    if form is not None:
        return f"a cloud does not enforce {form}"
    if question.offer.is_forced:
        return "a cloud cannot be forced to call a tool"
    if question.offer.is_strict:
        return "a cloud does not enforce the schemas of strict tools"
    if params.num_logprobs >= 0:
        return "log probabilities of a cloud are those of another model"
    if submit.choice:
        return "one of several choices"
    if "suffix" in given:
        return "a cloud does not fill in the middle of a text"
    if question.pictures:
        return "pictures are not sent to a cloud"
    if question.is_continued:
        return "a cloud does not continue a message"
    return "an embedding of a cloud is that of another model" if submit.task == "embed" else None
