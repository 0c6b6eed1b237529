/**
 * One honest picture of each backtest, made of nothing but its report: every policy is in it, the losing ones too.
 *
 *   spot, commitment, idle   the share of the optimum's saving per policy, beside what it costs to be wrong (false
 *   stops)
 *   scaling                  cost against load that went unserved: Bursar's settings as a line, the published rules as
 *   points
 *   throughput               the mean error of each method and model, and how often the intervals held
 *   policy                   cumulative cost over time of doing nothing, the policy, the published rules and the
 *   optimum
 *
 * It computes no share: where the report has null nothing is drawn. What does not fit is left out with a word about it.
 */
import type { BacktestCell, BacktestReport } from '../core/policy/backtest.js';
import type { Axis, CurvesPanel, Panel, Plot, RowsPanel } from '../core/plot.js';
import { HOUR_MS, parseInstant } from '../core/time.js';

type Measured = Readonly<Record<string, number | string | null>> & { readonly name: string };

/** A name and what was measured of every policy there. */
interface Row {
  readonly name: string;
  readonly policies: readonly Measured[];
}

const OPTIMUM = 'clairvoyant';
/** Rows and panels that a page can hold; beyond them a picture says what it leaves out. */
const MOST_ROWS = 60;
const MOST_PANELS = 12;
/** Up to so many cells the policies stand down the side, each with a bar per cell. */
const FEW_CELLS = 3;
const MOST_BARS = 96;
/**
 * Losses beyond the optimum's whole saving are written, not drawn to scale: one of them would flatten everything else.
 */
const SHARE: Axis = { title: "share of the optimum's saving", unit: 'share', min: -1 };

/** The picture of a report. */
export function backtestPlot(report: BacktestReport): Plot {
  switch (report.problem) {
    case 'spot':
      return {
        title: 'Spot under a deadline',
        subtitle: `${settingsText(report, ['jobHours', 'restartHours', 'onDemandPrice', 'spotPrice'])}${leftOut(report)}`,
        panels: [sharePanel(report)],
      };
    case 'spot-regions':
      return {
        title: 'Spot under a deadline, over many zones',
        subtitle: settingsText(report, ['jobHours', 'deadlineHours', 'restartHours', 'checkpointGb', 'gang']),
        panels: [sharePanel(report)],
      };
    case 'spot-serving':
      return {
        title: 'Replicas on spot and on-demand, over many zones',
        subtitle: settingsText(report, ['replicas', 'gang', 'coldStartMinutes', 'objective', 'windowHours']),
        panels: [sharePanel(report)],
      };
    case 'commitment':
      return {
        title: 'Reserve or pay on demand',
        subtitle: settingsText(report, ['termHours', 'priceRatio', 'alpha', 'tenants', 'hours']),
        panels: [sharePanel(report)],
      };
    case 'idle':
      return {
        title: 'Stop what is idle',
        subtitle: settingsText(report, ['restartMinutes', 'resources', 'spells']),
        panels: [
          sharePanel(report),
          measurePanel(
            report,
            'How often a stop was wrong',
            'falseStopShare',
            { title: 'stops whose resource was needed again within ten minutes', unit: 'share' },
            null,
          ),
        ],
      };
    case 'scaling':
      return scalingPlot(report);
    case 'throughput':
      return throughputPlot(report);
    case 'policy':
      return policyPlot(report);
  }
}

function settingsText({ settings }: BacktestReport, names: readonly string[]): string {
  const parts = names.flatMap((name) => {
    const value = settings[name];
    return typeof value === 'number' || typeof value === 'string'
      ? [
          `${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)} ${typeof value === 'number' ? Number(value.toPrecision(6)) : value}`,
        ]
      : [];
  });
  return parts.join(', ');
}

/** The pooled row first, then the cells as far as they fit. */
function rowsOf({ cells, mean }: BacktestReport): Row[] {
  const shown: Row[] = cells.slice(0, MOST_ROWS);
  return cells.length > 1 && !shown.some(({ name }) => name === 'all')
    ? [{ name: 'all cells', policies: mean }, ...shown]
    : shown;
}

const leftOut = ({ cells }: BacktestReport): string =>
  cells.length > MOST_ROWS ? `; ${MOST_ROWS} of ${cells.length} cells are drawn, all are in the JSON` : '';

const numberOf = (row: Row, policy: string, measure: string): number | null => {
  const value = row.policies.find(({ name }) => name === policy)?.[measure];
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
};

const policyNames = (rows: readonly Row[]): string[] => [
  ...new Set(rows.flatMap(({ policies }) => policies.map(({ name }) => name))),
];

/** The share of every policy, with a line for the optimum. */
const sharePanel = (report: BacktestReport): RowsPanel =>
  measurePanel(report, 'What each policy saves (100 % is as good as knowing the future)', 'meanShare', SHARE, 1);

/** One measure of every policy. @param optimum where a line marks the optimum; null: it has a bar like the others */
function measurePanel(
  report: BacktestReport,
  title: string,
  measure: string,
  axis: Axis,
  optimum: number | null,
): RowsPanel {
  const rows = rowsOf(report);
  const policies = policyNames(rows).filter((name) => optimum === null || name !== OPTIMUM);
  const reference = optimum === null ? null : { name: OPTIMUM, at: optimum };
  const few = report.cells.length <= FEW_CELLS;
  const panel = few
    ? {
        rows: policies,
        series: rows.map((row) => ({
          name: row.name,
          values: policies.map((policy) => numberOf(row, policy, measure)),
        })),
      }
    : {
        rows: rows.map(({ name }) => name),
        series: policies.map((name) => ({ name, values: rows.map((row) => numberOf(row, name, measure)) })),
      };
  return {
    kind: 'rows',
    title,
    axis,
    marks: panel.rows.length * panel.series.length <= MOST_BARS && axis.isLogarithmic !== true ? 'bars' : 'dots',
    reference,
    ...panel,
  };
}

const MARGIN = 1.1;

function scalingPlot(report: BacktestReport): Plot {
  const panels = report.cells.map((cell): CurvesPanel => {
    const pointOf = (name: string) => ({
      x: numberOf(cell, name, 'costRatio'),
      y: numberOf(cell, name, 'unservedShare'),
    });
    const points = (names: readonly string[]) =>
      names.flatMap((name) => {
        const { x, y } = pointOf(name);
        return x === null || y === null ? [] : [{ x, y, label: name }];
      });
    const names = policyNames([cell]);
    const settings = points(names.filter((name) => name.startsWith('bursar@'))).sort((a, b) => a.x - b.x);
    const others = names.filter((name) => !name.startsWith('bursar@'));
    const framed = points(others);
    return {
      kind: 'curves',
      title: cell.name,
      x: {
        title: "replica-minutes over the optimum's",
        unit: 'number',
        min: 0,
        max: Math.max(...framed.map(({ x }) => x), 1) * MARGIN,
      },
      y: { title: 'unserved load', unit: 'share', min: 0, max: Math.max(...framed.map(({ y }) => y), 0.01) * MARGIN },
      series: [
        { name: 'bursar@ (all risk settings)', marks: 'line', points: settings },
        ...others.map((name) => ({
          name,
          marks: 'points' as const,
          points: points([name]).map(({ x, y }) => ({ x, y })),
        })),
      ],
    };
  });
  return {
    title: 'Replicas and arrivals',
    subtitle: `${settingsText(report, ['bootMinutes', 'peakReplicas', 'minutes', 'defaultRisk'])}; nearer to the corner is better; settings beyond the frame are in the JSON`,
    panels,
  };
}

function throughputPlot(report: BacktestReport): Plot {
  const rows = rowsOf(report);
  const panel = (title: string, axis: Axis, measure: string, reference: RowsPanel['reference']): RowsPanel => {
    const valuesOf = (name: string) => rows.map((row) => numberOf(row, name, measure));
    const known = policyNames(rows).filter(
      (name) => name !== OPTIMUM && valuesOf(name).some((value) => value !== null),
    );
    const values = (name: string) =>
      valuesOf(name).map((value) => (axis.isLogarithmic === true ? positive(value) : value));
    return {
      kind: 'rows',
      title,
      axis,
      marks: 'dots',
      rows: rows.map(({ name }) => name),
      series: known.map((name) => ({ name, values: values(name) })),
      reference,
    };
  };
  return {
    title: 'Throughput from few measurements',
    subtitle: `${settingsText(report, ['points', 'repetitions', 'rows'])}; the measurements themselves (${OPTIMUM}) have no error${leftOut(report)}`,
    panels: [
      panel(
        'Mean absolute percentage error',
        { title: 'error of held-out rows, logarithmic', unit: 'share', isLogarithmic: true },
        'meanAbsolutePercentageError',
        null,
      ),
      panel(
        'Measurements within the 90 % interval',
        { title: 'share of held-out rows', unit: 'share', min: 0, max: 1 },
        'coverage90',
        { name: 'as stated', at: 0.9 },
      ),
    ].filter(({ series }) => series.length > 0),
  };
}

/** A logarithmic axis has no place for an error of 0. */
const positive = (value: number | null): number | null => (value !== null && value > 0 ? value : null);

function policyPlot(report: BacktestReport): Plot {
  const { cells, settings } = report;
  const spread = ({ policies }: BacktestCell): number => {
    const costs = policies
      .map(({ cost }) => cost)
      .filter((cost): cost is number => typeof cost === 'number' && Number.isFinite(cost));
    return costs.length === 0 ? 0 : Math.max(...costs) - Math.min(...costs);
  };
  const shown = [...cells].sort((a, b) => spread(b) - spread(a) || (a.name < b.name ? -1 : 1)).slice(0, MOST_PANELS);
  const note =
    cells.length > MOST_PANELS
      ? `; the ${MOST_PANELS} of ${cells.length} cells with the most changes are drawn, all are in the JSON`
      : '';
  return {
    title: `${String(settings['document'])}: ${String(settings['policy'])} on recorded history`,
    subtitle: `${String(settings['from']).slice(0, 10)} to ${String(settings['to']).slice(0, 10)}, bursar is the policy itself${note}`,
    panels: shown.map((cell) => costPanel(cell, currencyOf(settings), parseInstant(String(settings['to'])))),
  };
}

/** `USD over the whole window, ...` begins with it. */
const currencyOf = (settings: BacktestReport['settings']): string =>
  /^[A-Z]{3}\b/.exec(String(settings['costUnit']))?.[0] ?? 'cost';

/** Causes that a title names; the JSON has them all. */
const MOST_CAUSES = 2;

/** What is in no line of a cell, in words: a picture of a part must not look whole. */
function missingIn(cell: BacktestCell): string[] {
  const { unknown = [], count } = cell;
  const causes = [...new Set(unknown.map(({ name, why }) => `${name}: ${why}`))];
  const named = `${causes.slice(0, MOST_CAUSES).join('; ')}${causes.length > MOST_CAUSES ? `; and ${causes.length - MOST_CAUSES} more` : ''}`;
  const short = (value: number): string => String(Number(value.toPrecision(4)));
  const [gpuHours, replicaHours] = [
    numberOf(cell, 'bursar', 'unpricedGpuHours') ?? 0,
    numberOf(cell, 'bursar', 'unpricedReplicaHours') ?? 0,
  ];
  return [
    ...(unknown.length === 0
      ? []
      : unknown.length === count
        ? [`cost and saving are unknown: ${named}`]
        : [`${unknown.length} of ${count} are in no line: ${named}`]),
    ...(gpuHours > 0 ? [`${short(gpuHours)} GPU-hours have no price and are not included`] : []),
    ...(replicaHours > 0 && unknown.length === 0
      ? [`${short(replicaHours)} replica-hours have no price and are not included`]
      : []),
  ];
}

/**
 * Cumulative cost; a policy of which only the sum is known is a point at the end. Bars where nothing is known over
 * time.
 */
function costPanel(cell: BacktestCell, currency: string, until: number | null): Panel {
  const { series, name, policies } = cell;
  const missing = missingIn(cell);
  const title = missing.length === 0 ? name : `${name} (${missing.join('; ')})`;
  const costOf = (policy: string): number | null => numberOf(cell, policy, 'cost');
  const start = series === undefined ? null : parseInstant(series.from);
  if (series === undefined || start === null) {
    return {
      kind: 'rows',
      title,
      axis: { title: `cost of the window (${currency})`, unit: 'number' },
      marks: 'bars',
      rows: policies.map((one) => one.name),
      series: [{ name: currency, values: policies.map((one) => costOf(one.name)) }],
      reference: null,
    };
  }
  // The last step may be cut short by the window's end.
  const endOf = (steps: number): number => Math.min(until ?? Infinity, start + steps * series.stepHours * HOUR_MS);
  const end = endOf(Math.max(...Object.values(series.costs).map(({ length }) => length)));
  return {
    kind: 'curves',
    title,
    x: { title: 'day (UTC)', unit: 'instant', min: start, max: end },
    y: { title: `cumulative cost (${currency})`, unit: 'number', min: 0 },
    series: policies.map(({ name: policy }) => {
      const costs = series.costs[policy];
      const total = costOf(policy);
      if (costs === undefined)
        return { name: policy, marks: 'points' as const, points: total === null ? [] : [{ x: end, y: total }] };
      let sum = 0;
      return {
        name: policy,
        marks: 'line' as const,
        points: [{ x: start, y: 0 }, ...costs.map((cost, at) => ({ x: endOf(at + 1), y: (sum += cost) }))],
      };
    }),
  };
}
