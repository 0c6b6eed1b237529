/**
 * The dynamic program of spot-reach.mjs: the best that a policy can do that knows tick, instance held, restart left,
 * slack and the state that a feature set gives, where the choices are made on the very nodes that are then run.
 *
 * A node is a window (what follows is what followed) or a state of a counted chain (what follows is drawn as counted).
 * Teachers, the nodes with weight, decide by their summed cost to go; nodes without weight follow. The rules of a tick
 * are simulate.ts', unit by unit, and safety.ts bars what could miss. It never rounds and never decides with what a
 * state does not tell. The invariant: nodes of one group choose alike.
 */
export const IDLE = 0;
export const SPOT = 1;
export const SPOT_RESTARTING = 2;
export const HELD = 3;
export const HELD_RESTARTING = 4;
const MODES = 5;
const BARRED = 1e9;

/**
 * Where each choice leads from `slack` with `work` left: what is paid now, and the row of the expected costs that
 * follows; -1 where the work ends.
 */
function choicesAt(problem, slack, work, rows) {
  const {
    tickUnits,
    restartUnits,
    unitPrice: [, spotPrice, onDemandPrice],
  } = problem;
  const after = Math.max(0, restartUnits - tickUnits);
  const row = (mode, left) => mode * rows + left;
  const run = (restart, price, mode, least) => {
    if (restart + work <= tickUnits) return { paid: (restart + work) * price, row: -1 };
    const left = slack - Math.min(restart, tickUnits);
    return left < least ? null : { paid: tickUnits * price, row: row(mode, left) };
  };
  const launched = run(restartUnits, onDemandPrice, after > 0 ? HELD_RESTARTING : HELD, after);
  const restarting = run(after, spotPrice, SPOT, restartUnits) ?? launched;
  return {
    wait: slack - tickUnits >= restartUnits ? { paid: 0, row: row(IDLE, slack - tickUnits) } : null,
    spot: run(restartUnits, spotPrice, after > 0 ? SPOT_RESTARTING : SPOT, restartUnits),
    // By mode: to stay as one is, or from idle to on-demand, which can always be had.
    stay: [
      launched,
      run(0, spotPrice, SPOT, restartUnits),
      restarting,
      run(0, onDemandPrice, HELD, 0),
      run(after, onDemandPrice, HELD, 0),
    ],
  };
}

/** Cost to go of node `n` after a choice. */
const costOf = (choice, expected, size, n) =>
  choice === null ? BARRED : choice.paid + (choice.row < 0 ? 0 : expected[choice.row * size + n]);

/** Sums a choice's cost to go over the teachers of each group. */
function addUp(choice, expected, { size, weight }, groups, sums) {
  sums.fill(0);
  for (let n = 0; n < size; n += 1) if (weight[n] > 0) sums[groups[n]] += weight[n] * costOf(choice, expected, size, n);
}

/**
 * Cost of every node from the first tick on, idle with all slack. `nodes`: size, weight by node (0: follows), at(tick)
 * = { groups, coarser, available } by node, their number as groupCount and coarserCount, and `blend(values, forecast)`
 * where what follows is not the same node's next tick. A node whose group has no teacher goes by its coarser group.
 */
export function bestCosts(problem, nodes) {
  const { tickUnits, jobUnits, restartUnits, ticks } = problem;
  if (restartUnits > 2 * tickUnits) throw new Error('a restart of more than two ticks is not supported');
  const most = ticks * tickUnits - jobUnits;
  const rows = most + 1;
  // Rows of a slack that leaves no work, or more than the job, are never read.
  let values = new Float64Array(MODES * rows * nodes.size);
  let expected = new Float64Array(values.length).fill(BARRED);
  const decider = new Decider(nodes);
  for (let tick = ticks - 1; tick >= 0; tick -= 1) {
    const { groups, coarser, available } = nodes.at(tick);
    decider.open([groups, coarser]);
    for (let slack = 0; slack < rows; slack += 1) {
      const work = (ticks - tick) * tickUnits - slack;
      if (work > 0 && work <= jobUnits)
        decider.decide(choicesAt(problem, slack, work, rows), { values, expected, available, slack, rows });
    }
    if (nodes.blend === undefined) [values, expected] = [expected, values];
    else nodes.blend(values, expected);
  }
  const from = (IDLE * rows + most) * nodes.size;
  return (nodes.blend === undefined ? expected : values).slice(from, from + nodes.size);
}

/** Makes the choices of one tick at one slack: the teachers' sums by group, then every node as its group chose. */
class Decider {
  constructor(nodes) {
    this.nodes = nodes;
    const level = (count) => ({
      groups: null,
      teachers: new Float64Array(count),
      sums: [0, 1, 2].map(() => new Float64Array(count)),
    });
    this.levels = [level(nodes.groupCount), level(nodes.coarserCount)];
  }

  /** Takes the groups of a tick, fine and coarser. */
  open(groups) {
    const { size, weight } = this.nodes;
    this.levels.forEach((level, i) => {
      level.groups = groups[i];
      level.teachers.fill(0);
      for (let n = 0; n < size; n += 1) level.teachers[groups[i][n]] += weight[n];
    });
  }

  decide({ wait, spot, stay }, { values, expected, available, slack, rows }) {
    const {
      nodes: { size },
      levels,
    } = this;
    const [fine, coarser] = levels;
    const sum = (choice, which) => {
      for (const { sums, groups } of levels) addUp(choice, expected, this.nodes, groups, sums[which]);
    };
    sum(wait, 0);
    sum(spot, 1);
    for (const mode of [IDLE, HELD, HELD_RESTARTING]) {
      sum(stay[mode], 2);
      const out = (mode * rows + slack) * size;
      for (let n = 0; n < size; n += 1) {
        const { groups, sums } = fine.teachers[fine.groups[n]] > 0 ? fine : coarser;
        const g = groups[n];
        const [waits, spots, stays] = [sums[0][g], sums[1][g], sums[2][g]];
        const goes = available[n] === 1 && spots < stays && spots <= waits ? spot : waits < stays ? wait : stay[mode];
        values[out + n] = costOf(goes, expected, size, n);
      }
    }
    for (const mode of [SPOT, SPOT_RESTARTING]) {
      const out = (mode * rows + slack) * size;
      for (let n = 0; n < size; n += 1)
        values[out + n] = available[n] === 1 ? costOf(stay[mode], expected, size, n) : values[slack * size + n];
    }
  }
}
