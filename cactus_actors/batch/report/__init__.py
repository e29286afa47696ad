"""The report of a run: figures of its results, and a page that shows them."""

from cactus_actors.batch.report.report_page import check_report_path, write_report
from cactus_actors.batch.report.run_figures import RunFigures, figures_of

__all__ = ["RunFigures", "check_report_path", "figures_of", "write_report"]
