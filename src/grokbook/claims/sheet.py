"""The claims of a page as it fills them in: a statement, a value by seed, a bound."""

from collections.abc import Mapping

from pandas import Series

from grokbook.claims.claim import Claim, extra, not_run, order, per_seed
from grokbook.claims.display import ClaimsTable, table
from grokbook.evidence import Run


class Sheet(list[Claim]):
    """The claims of one page, in its order; any `Claim` can be appended too.

    ``source`` (where the paper says it) and ``show`` (how a value is printed, as in
    "{:.1%}") are those of most of them.
    """

    def __init__(self, page: str, *, source: str = "", show: str = "{:,.0f}"):
        super().__init__()
        self.page, self.source, self.show = page, source, show

    def claim(
        self,
        run: Run,
        statement: str,
        paper: str,
        value: Series,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        above: float | None = None,
        below: float | None = None,
        show: str | None = None,
        source: str | None = None,
    ) -> None:
        """A claim of the paper on one value per seed: that it lies within bounds.

        ``at_least`` and ``at_most`` include the bound, ``above`` and ``below`` do not;
        at least one is given. No seed at all reads "not run". ValueError for a NaN.
        """
        bounds = (at_least, at_most, above, below)
        if all(bound is None for bound in bounds):
            raise ValueError(f"claim {statement!r} could not fail: give it a bound")
        where = self.source if source is None else source
        if value.empty:
            self.append(not_run(statement, paper, source=where))
            return
        self.append(
            per_seed(
                run.record,
                statement,
                paper,
                value,
                lambda one: _within(one, *bounds),
                show=show or self.show,
                source=where,
            )
        )

    def extra(
        self,
        run: Run,
        statement: str,
        value: Series,
        *,
        paper: str = "not in the paper",
        show: str | None = None,
    ) -> None:
        """A measurement of ours beyond the paper; nothing where there is no seed."""
        if not value.empty:
            shown = show or self.show
            self.append(extra(run.record, statement, value, paper=paper, show=shown))

    def order(
        self,
        statement: str,
        paper: str,
        values: Mapping[Run, Series],
        *,
        open_end: bool = False,
        show: str | None = None,
        source: str | None = None,
    ) -> None:
        """A claim that several arms come one after the other, see `order`.

        The arms are named by their labels. An arm without a seed reads "not run".
        """
        where = self.source if source is None else source
        if any(value.empty for value in values.values()):
            self.append(not_run(statement, paper, source=where))
            return
        self.append(
            order(
                next(iter(values)).record,
                statement,
                paper,
                {run.label: value for run, value in values.items()},
                open_end=open_end,
                show=show or self.show,
                source=where,
            )
        )

    def table(self) -> ClaimsTable:
        """What ends the check cell of the page."""
        return table(self, self.page)


def _within(
    value: float,
    at_least: float | None,
    at_most: float | None,
    above: float | None,
    below: float | None,
) -> bool:
    return (
        (at_least is None or value >= at_least)
        and (at_most is None or value <= at_most)
        and (above is None or value > above)
        and (below is None or value < below)
    )
