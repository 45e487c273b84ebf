"""Growing with a ridge: after every split all values of the model are fitted together.

The model is f = c + sum b_s psi_s, see `refitting`. With A = sum w psi psi' and the penalties R, a
step takes the split whose column lowers the penalised squared error most when all coefficients are
fitted again (`kernels.joint_split`). Nothing but one row and column of A is new then:

    A[s, new] = sum w psi_s psi_new      within a tree 0, because psi_new has the weighted mean 0 in
                                         a leaf, where the splits above it are constant

So a candidate leaf needs, besides the sums of w and w y over its bins, those of w psi_s for each
split of the *other* trees: its overlaps. They tell both A and the residuals, whatever the values
are now, and the rows are never asked for their residuals. After a split, one pass adds up

    the smaller child: w, w y, and the weights that it shares with each leaf of the other trees

Its sibling is the parent minus it. The shared weights also are the column of the new split in all
candidates of the other trees. If there are more candidates than fit the memory, those with the
smallest gains are let go, and added up again with every pass.

Without a given ridge it comes from the data: as if coefficients were drawn from a normal
distribution, the ridge is 3 m s^2 / sum (R_s / ridge) b_s^2, with the variance s^2 of residuals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from figs_spark.engine.candidates import LEAST_ROOM, NEW_ROOT
from figs_spark.engine.constraints import MARGIN, order_rows, ordered
from figs_spark.engine.grower import Growth
from figs_spark.engine.histograms import Floats, Request, Sums
from figs_spark.engine.joint_candidates import Candidate, NormalEquations
from figs_spark.engine.kernels.records import Slots
from figs_spark.engine.logistic_fit import solved
from figs_spark.engine.permissions import Permissions
from figs_spark.engine.splits import Cut
from figs_spark.treesum.nodes import arms

JOINT_BYTES = 512 << 20  # of the histograms and overlaps that a model keeps
PASS_BYTES = 64 << 20  # of what one pass adds up for candidates that were let go
FIRST_RIDGE = 10.0  # from which an automatic ridge starts
LEAST_RIDGE, MOST_RIDGE = 0.1, 0.1  # a number; a share of the total weight
STRENGTH = 3.0
ROUNDS = 3


class JointGrowth(Growth):
    """One model that grows with a ridge."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self._known: dict[int, Candidate] = {}
        self._equations: dict[int, NormalEquations] = {}
        self._let_go: list[int] = []
        self._to_pass: list[int] = []  # nodes that the next passes add up
        self._passed: dict[int, tuple[Floats, Floats]] = {}  # sums and shared weights of a node
        self._parent: Candidate | None = None  # of the last split; None if it was let go
        self._splits: list[int] = []  # the node of each split
        outputs = self.layout.outputs
        self._of_node = np.zeros((0, 0))  # (nodes, splits) psi in each node
        self._products = np.zeros((0, 0))  # A
        self._targets = np.zeros((0, outputs))
        self._penalty = np.zeros(0)
        self._values = np.zeros((0, outputs))  # the coefficients
        self._automatic = self.rules.ridge is None
        self._ridge = FIRST_RIDGE if self.rules.ridge is None else self.rules.ridge
        self._ridges: list[float] = []

    def _asked_permissions(self, bounded: bool = False) -> Permissions | None:
        return super()._asked_permissions(bounded)

    @property
    def ridges(self) -> list[float]:
        return self._ridges

    @property
    def histogram_bytes(self) -> int:
        leaves = min(self.most_steps + 2, self._most_kept)
        return self._bytes_of_one * leaves

    @property
    def driver_bytes(self) -> int:
        return self.histogram_bytes + PASS_BYTES

    @property
    def _bytes_of_one(self) -> int:
        return 8 * self.layout.size * (self.layout.channels + self.most_steps)

    @property
    def _most_kept(self) -> int:
        return max(LEAST_ROOM, JOINT_BYTES // self._bytes_of_one)

    # A greedy step

    def requests(self) -> list[Request]:
        if not self.losses:
            none = np.zeros(0, np.int32)
            return [self._request(Slots(none, none, none, root=0, grown=-1))]
        leaves = sum(node.split is None for node in self.trees.nodes)
        at_once = max(1, PASS_BYTES // (8 * self.layout.size * (self.layout.channels + leaves)))
        return [self._request(self._slots(node)) for node in self._to_pass[:at_once]]

    def _request(self, slots: Slots) -> Request:
        trees = self.trees.arrays()
        outcome = trees._replace(value=np.zeros_like(trees.value))  # so that residuals are y
        return Request(self._features, self._cuts.layout, outcome, slots)

    def _slots(self, node: int) -> Slots:
        full, overlap, child = (np.full(len(self.trees.nodes), -1, np.int32) for _ in range(3))
        others = self._other_leaves(node)
        full[node] = child[node] = 0
        overlap[others] = np.arange(len(others))
        return Slots(full, overlap, child, root=-1, grown=self.trees.nodes[node].tree)

    def _other_leaves(self, node: int) -> list[int]:
        """The leaves of the other trees, those that may not be split included."""
        nodes = self.trees.nodes
        tree = nodes[node].tree
        return [k for k, other in enumerate(nodes) if other.split is None and other.tree != tree]

    def absorb_all(self, passed: Sequence[Sums]) -> None:
        if not self.losses:
            self._begin(passed[0])
            self._ridges, self.path = [self._ridge], [self.mean[None]]
            self._add_targets(NEW_ROOT, passed[0].moments[0])
            root = passed[0].full[0].copy()  # what a pass added up is one array; it may go
            self._known[NEW_ROOT] = Candidate(root, np.zeros((0, self.layout.size)))
        else:
            for sums in passed:
                node = self._to_pass.pop(0)
                self._passed[node] = (self._centred(sums.full[0].copy()), sums.overlap)
                self._add_targets(node, sums.moments[0])
            if self._to_pass:
                return
            self._take()
        self._evaluate()

    def _centred(self, sums: Floats) -> Floats:
        outputs = self.layout.outputs
        sums[:, :outputs] -= self.mean * sums[:, outputs : outputs + 1]
        return sums

    @property
    def ready(self) -> bool:
        return not self._to_pass

    def _take(self) -> None:
        """Bring all candidates up to date with the last split."""
        parent, children = self._splits[-1], self.trees.children(self._splits[-1])
        shared = self._shared_with(children)
        own = {child: self._fresh(child) for child in children if child in self._passed}
        self._divide_targets()
        none = np.zeros(self.layout.size)
        if self._parent is not None:
            small, large = children
            own[large] = self._parent.without(own[small])
            own[large].add(none)
        for candidate, known in self._known.items():
            if candidate == NEW_ROOT:
                known.add(self._column(parent, {child: own[child].sums for child in own}))
            else:
                known.add(shared.get(candidate, none))
        self._known |= own
        self._known |= {leaf: self._fresh(leaf) for leaf in self._let_go if leaf in self._passed}
        self._known = {c: known for c, known in self._known.items() if self._keeps(c)}
        self._passed, self._parent = {}, None

    def _keeps(self, candidate: int) -> bool:
        """Whether the histograms of a candidate may be of use."""
        return self._may_split(candidate)

    def _fresh(self, node: int) -> Candidate:
        """From the rows: the overlaps are those with the leaves below each child of a split."""
        sums, shared = self._passed[node]
        others = self._other_leaves(node)
        return Candidate(sums, self._of_node[others].T @ shared)

    def _column(self, parent: int, sums: dict[int, Floats]) -> Floats:
        """w psi of the new split over all bins, from the weights of both children."""
        outputs, node = self.layout.outputs, self.trees.nodes[parent]
        up, down = self._arms(parent)
        return up * sums[node.left][:, outputs] + down * sums[node.right][:, outputs]

    def _shared_with(self, children: tuple[int, int]) -> dict[int, Floats]:
        """w psi of the new split in each known leaf of the other trees."""
        parent = self._splits[-1]
        others = {leaf: k for k, leaf in enumerate(self._other_leaves(parent))}
        node, (up, down) = self.trees.nodes[parent], self._arms(parent)
        factor = {node.left: up, node.right: down}
        small, large = children
        columns = {}
        for leaf in (leaf for leaf in self._known if leaf in others):
            with_small = self._passed[small][1][others[leaf]]
            if large in self._passed:
                with_large = self._passed[large][1][others[leaf]]
            else:
                with_large = self._shared(leaf, parent) - with_small
            columns[leaf] = factor[small] * with_small + factor[large] * with_large
        return columns

    def _shared(self, leaf: int, node: int) -> Floats:
        """The weights of the rows that a known leaf shares with a node of another tree: those with
        its root, and then down, by what the overlaps say of each split on the way."""
        known = self._known[leaf]
        weights = known.sums[:, self.layout.outputs]
        for step in np.flatnonzero(self._of_node[node]):
            up, down = self._arms(self._splits[step])
            own = self._of_node[node, step]
            other = down if own == up else up
            weights = (known.overlaps[step] - other * weights) / (own - other)
        return weights

    def _arms(self, node: int) -> tuple[float, float]:
        split, nodes = self.trees.nodes[node], self.trees.nodes
        return arms(nodes[split.left].weight, nodes[split.right].weight)

    # The best split of each candidate

    def _evaluate(self) -> None:
        """Find the best split of every known candidate; let go of those with the least gains."""
        normal = self._products + np.diag(self._ridge * self._penalty)
        inverse = np.linalg.inv(normal).astype(np.float64, copy=False)
        self._best, self._equations = {}, {}
        for candidate, known in self._known.items():
            self._best[candidate] = self._best_cut(candidate, known, inverse)
        gains = {c: cut.gain if cut else -math.inf for c, cut in self._best.items()}
        leaves = sorted((c for c in self._known if c != NEW_ROOT), key=lambda c: (gains[c], -c))
        self._let_go = leaves[: max(0, len(self._known) - self._most_kept)]
        for candidate in self._let_go:
            del self._known[candidate]

    def _best_cut(self, candidate: int, known: Candidate, inverse: Floats) -> Cut | None:
        others = self._splits_of_other_trees(candidate)
        overlaps = known.overlaps[others]
        histogram = self._residuals(candidate, known, overlaps, self._values[others])
        root = np.linalg.cholesky(inverse[np.ix_(others, others)]) if others else np.zeros((0, 0))
        bargain = None if self._permissions is None else self._bargain(candidate)
        shared = overlaps.T @ root
        noise = self.noise(candidate)
        cut = self._cuts.best_joint(histogram, shared, self._ridge, self._limits, bargain, noise)
        if cut is not None:
            self._equations[candidate] = self._normal_equations(histogram, known, cut)
        return cut

    def _splits_of_other_trees(self, candidate: int) -> list[int]:
        nodes = self.trees.nodes
        tree = None if candidate == NEW_ROOT else nodes[candidate].tree
        return [step for step, node in enumerate(self._splits) if nodes[node].tree != tree]

    def _residuals(
        self, candidate: int, known: Candidate, overlaps: Floats, values: Floats
    ) -> Floats:
        """The histogram of the residuals under the coefficients of now."""
        outputs = self.layout.outputs
        histogram = known.sums.copy()
        histogram[:, :outputs] -= overlaps.T @ values
        if candidate != NEW_ROOT:
            own = self._of_node[candidate] @ self._values
            histogram[:, :outputs] -= own * known.sums[:, outputs : outputs + 1]
        return histogram

    def _normal_equations(self, histogram: Floats, known: Candidate, cut: Cut) -> NormalEquations:
        split, outputs = self._cuts.split(histogram, cut), self.layout.outputs
        up, down = arms(split.left.weight, split.right.weight)
        start, stop = self._cuts.layout.offsets[split.feature : split.feature + 2].astype(np.intp)
        factor = np.zeros(stop - start)
        factor[split.left_bins], factor[split.right_bins] = up, down
        factor[-1] = up if split.missing_left else down
        return NormalEquations(
            split,
            overlaps=known.overlaps[:, start:stop] @ factor,
            target=factor @ known.sums[start:stop, :outputs],
        )

    # Splitting

    def split(self) -> None:
        choice = self._choose()
        if choice is None and self._must_go_on():
            self._evaluate()
            choice = self._choose()
            if choice is None:
                self._must_go_on()  # it says which feature cannot be split
        if choice is None:
            self.done = True
            return
        candidate, _ = choice
        equations = self._equations[candidate]
        parent = self._known.get(candidate)
        self._parent = None if parent is None else parent.kept()
        leaf = self._plant() if candidate == NEW_ROOT else candidate
        self._divide(leaf, equations.split)
        if candidate != NEW_ROOT:
            self._known.pop(candidate, None)
        self._splits.append(leaf)
        self._extend(leaf, equations)
        self._fit()
        self.steps += 1
        if self.rules.max_splits is not None and self.steps >= self.rules.max_splits:
            self._end()
        if self.done:
            return
        small, large = self.trees.children(leaf)
        again = [c for c in self._let_go if c != candidate]
        self._to_pass = [small, *([] if self._parent else [large]), *again]

    def _end(self) -> None:
        """All splits are made."""
        self.done = True
        self._known, self._equations, self._parent = {}, {}, None

    def _extend(self, leaf: int, equations: NormalEquations) -> None:
        """The normal equations with one more split."""
        node, nodes, old = self.trees.nodes[leaf], self.trees.nodes, len(self._penalty)
        products = np.zeros((old + 1, old + 1))
        products[:old, :old] = self._products
        products[old, :old] = products[:old, old] = equations.overlaps
        products[old, old] = node.weight
        up, down = arms(nodes[node.left].weight, nodes[node.right].weight)
        self._products, self._targets = products, np.vstack([self._targets, equations.target])
        self._penalty = np.append(self._penalty, (up**2 + down**2) / 2)
        of_node = np.zeros((len(nodes), old + 1))
        of_node[: len(self._of_node), :old] = self._of_node
        for child, factor in ((node.left, up), (node.right, down)):
            of_node[child, :old] = of_node[leaf, :old]
            of_node[child, old] = factor
        self._of_node = of_node

    def _fit(self) -> None:
        """All coefficients together, and with them the ridge if it is automatic."""
        for attempt in range(ROUNDS if self._automatic else 0):
            self._solve()
            suggested = self._suggested_ridge()
            if abs(suggested / self._ridge - 1) < 0.05:
                break
            self._ridge = math.sqrt(suggested * self._ridge) if attempt else suggested
        self._solve()
        assert self.path is not None
        self.path.append(np.vstack([self.mean, self._values]))
        self._ridges.append(self._ridge)
        self.losses[-1] = self._loss()

    def _solve(self) -> None:
        normal = self._products + np.diag(self._ridge * self._penalty)
        constraints = self.rules.constraints
        if constraints is None or not constraints.ordered:
            self._values = solved(normal, self._targets)
            return
        rows = order_rows(self.trees.nodes, self._of_node, constraints.monotone)
        margin = MARGIN * math.sqrt(self.losses[0])
        self._values = ordered(normal, self._targets[:, 0], rows, margin)[:, None]

    def _loss(self) -> float:
        values = self._values
        explained = 2 * (values * self._targets).sum() - (values * (self._products @ values)).sum()
        return max(self.losses[0] - float(explained) / self.weight, 0.0)

    def _suggested_ridge(self) -> float:
        splits = len(self._penalty)
        variance = self._loss() * self.weight / max(self.weight - splits - 1, 1.0)
        spread = float(self._penalty @ (self._values**2).sum(axis=1))
        most = MOST_RIDGE * self.weight
        if spread * most <= STRENGTH * splits * variance:
            return most
        return min(max(STRENGTH * splits * variance / spread, LEAST_RIDGE), most)
