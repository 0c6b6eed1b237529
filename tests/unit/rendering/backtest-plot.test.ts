/** The pictures of backtests, of reports that the planners themselves make of small inputs. */
import { Resvg } from '@resvg/resvg-js';
import { describe, expect, it } from 'vitest';
import type { BacktestReport } from '../../../src/core/policy/backtest.js';
import { wordsOf, type CurvesPanel, type Plot, type RowsPanel } from '../../../src/core/plot.js';
import { formatInstant } from '../../../src/core/time.js';
import { compareCommitments } from '../../../src/lab/commitment/comparison.js';
import { idleReport } from '../../../src/lab/idle/backtest.js';
import { scalingReport } from '../../../src/lab/scaling/backtest.js';
import { compareSpot } from '../../../src/lab/spot/compare.js';
import { throughputReport } from '../../../src/lab/throughput/backtest.js';
import { backtestPlot } from '../../../src/rendering/backtest-plot.js';
import { renderPng } from '../../../src/rendering/chart.js';
import { drawPlot } from '../../../src/rendering/plot-option.js';
import { decodePng } from '../../support/png.js';

const window = (from: number): Uint8Array =>
  Uint8Array.from({ length: 60 }, (_, tick) => Number((tick + from) % 5 !== 0));

/** Zones of two windows each. */
const spot = (zones: number): BacktestReport =>
  compareSpot({
    terms: { jobHours: 4, restartHours: 0.2, onDemandPrice: 3.06, spotPrice: 0.9731 },
    deadlineHours: [6, 8],
    zones: Array.from({ length: zones }, (_, zone) => ({
      name: `zone-${zone}`,
      tickSeconds: 600,
      windows: [window(zone), window(zone + 2)],
      recordings: [window(zone + 1)],
    })),
  });

function commitment(): BacktestReport {
  const demand = Int32Array.from({ length: 96 }, (_, hour) => (hour % 4 === 0 ? 2 : 1));
  return {
    problem: 'commitment',
    settings: { termHours: 24 },
    ...compareCommitments([{ tenant: 'a', demand }], { termHours: 24, priceRatio: 0.6, alpha: 0 }),
  };
}

const scaling = (): BacktestReport =>
  scalingReport(
    Float64Array.from({ length: 240 }, (_, minute) => 60 + 40 * Math.sin(minute / 20)),
    { bootMinutes: 5, peakReplicas: 20 },
  );

function idle(): BacktestReport {
  const samples = Array.from({ length: 240 }, (_, minute) => {
    const busy = minute % 80 < 40;
    return {
      evidence: {
        resource: 'vm-1',
        minute,
        gpuUtilPercent: busy ? 90 : 0,
        requestsPerSecond: null,
        memoryUsedRatio: null,
        workload: null,
      },
      useful: busy,
    };
  });
  return idleReport(samples, 10);
}

function throughput(): BacktestReport {
  const rows = ['small-net', 'large-net'].flatMap((model, scale) =>
    Array.from({ length: 14 }, (_, n) => ({
      model,
      gpu: 'H200',
      gpuCount: 1,
      batch: 2 ** (n % 7),
      samplesPerSecond: ((900 * 2 ** (n % 7)) / (2 ** (n % 7) + 8) / (scale + 1)) * (n < 7 ? 1 : 1.6),
      family: 'cnn',
      params: 1e7 * (scale + 1),
      size: 224,
      optimizer: 'sgd',
      precision: n < 7 ? 'fp32' : 'bf16',
      nodes: 1,
    })),
  );
  return throughputReport(rows, 8, 1);
}

const POLICY: BacktestReport = {
  problem: 'policy',
  settings: {
    document: 'base',
    policy: 'reserve-baseline',
    from: '2026-10-01T00:00:00Z',
    to: '2026-10-03T12:00:00Z',
    costUnit: 'USD over the whole window, per series, resource or workload',
  },
  cells: [
    {
      name: 'lab/demand',
      count: 1,
      policies: [
        { name: 'none', meanCost: 25, meanShare: 0, cost: 25 },
        { name: 'look-back-7d', meanCost: 20, meanShare: 0.5, cost: 20 },
        { name: 'bursar', meanCost: 17, meanShare: 0.8, cost: 17 },
        { name: 'clairvoyant', meanCost: 15, meanShare: 1, cost: 15 },
      ],
      series: {
        from: '2026-10-01T00:00:00Z',
        stepHours: 24,
        costs: { none: [10, 10, 5], bursar: [7, 7, 3], 'look-back-7d': [8, 8, 4] },
      },
    },
  ],
  mean: [],
};

const REPORTS: Readonly<Record<string, () => BacktestReport>> = {
  spot: () => spot(2),
  'spot, many cells': () => spot(8),
  commitment,
  scaling,
  idle,
  throughput,
  policy: () => POLICY,
};

interface PlotTable {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}

/** What is drawn as tables, one per panel: every value of the picture, and no other. */
function tablesOf({ panels }: Plot): PlotTable[] {
  return panels.map((panel) => {
    if (panel.kind === 'rows') {
      return {
        title: panel.title,
        columns: ['', ...panel.series.map(({ name }) => name)],
        rows: panel.rows.map((row, at) => [row, ...panel.series.map(({ values }) => values[at] ?? null)]),
      };
    }
    return {
      title: panel.title,
      columns: ['series', panel.x.title, panel.y.title],
      rows: panel.series.flatMap(({ name, points }) =>
        points.map(({ x, y, label }) => [label ?? name, panel.x.unit === 'instant' ? formatInstant(x) : x, y]),
      ),
    };
  });
}

/** Every number that a picture stands for. */
const numbersOf = (plot: Plot): number[] =>
  tablesOf(plot)
    .flatMap(({ rows }) => rows.flat())
    .filter((value) => typeof value === 'number');

describe.each(Object.keys(REPORTS))('the picture of %s', (name) => {
  const report = REPORTS[name]!();
  const plot = backtestPlot(report);
  const svg = drawPlot(plot);

  it('is sound XML that holds no broken number', () => {
    expect(() => new Resvg(svg)).not.toThrow();
    expect(svg).not.toMatch(/NaN|undefined|Infinity|\[object/);
    expect(numbersOf(plot).every(Number.isFinite)).toBe(true);
    expect(numbersOf(plot).length).toBeGreaterThan(5);
  });

  it('names every policy of the report, in the drawing itself', () => {
    const drawn = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text ?? '').join('\n');
    for (const policy of new Set(report.cells.flatMap(({ policies }) => policies.map((one) => one.name))))
      expect(drawn).toContain(policy.startsWith('bursar@') ? 'bursar@' : policy);
  });

  it('says in words and in a table what it shows', () => {
    expect(svg).toContain(`<title>${plot.title}</title>`);
    expect(svg).toMatch(/<desc>[^<]{80,}<\/desc>/);
    expect(wordsOf(plot)).not.toMatch(/NaN|undefined|null/);
  });

  it('is a PNG that is not blank, of the size of the drawing', async () => {
    const png = decodePng(await renderPng(svg, 1));
    expect([png.width, png.height]).toEqual([new Resvg(svg).width, new Resvg(svg).height]);
    const white = png.count([255, 255, 255]);
    expect(white).toBeGreaterThan(0.5 * png.width * png.height);
    expect(white).toBeLessThan(0.99 * png.width * png.height);
    if (
      report.cells.some(({ policies }) => policies.some((one) => one.name === 'bursar')) &&
      !['commitment'].includes(name)
    )
      expect(png.count([0xd5, 0x5e, 0x00])).toBeGreaterThan(20);
  });
});

describe('the shares of a policy', () => {
  it('are those of the report, pooled row first, with a line at the optimum', () => {
    const report = spot(2);
    const [panel] = backtestPlot(report).panels as [RowsPanel];
    expect(panel.rows).toEqual(['all cells', 'zone-0 6h', 'zone-1 6h', 'zone-0 8h', 'zone-1 8h']);
    expect(panel.reference).toEqual({ name: 'clairvoyant', at: 1 });
    const bursar = panel.series.find((one) => one.name === 'bursar');
    expect(bursar?.values).toEqual(
      [report.mean, ...report.cells.map(({ policies }) => policies)].map(
        (rows) => rows.find((one) => one.name === 'bursar')?.meanShare,
      ),
    );
  });

  it('that nobody knows are not drawn as zero', () => {
    const report = commitment();
    const without = {
      ...report,
      cells: report.cells.map((cell) => ({
        ...cell,
        policies: cell.policies.map((one) => ({ ...one, meanShare: null })),
      })),
    };
    const [panel] = backtestPlot(without).panels as [RowsPanel];
    expect(panel.series.every(({ values }) => values.every((value) => value === null))).toBe(true);
    expect(wordsOf(backtestPlot(without))).toContain('bursar: all unknown');
  });

  it('far below zero stand at the edge, with their value written', () => {
    const report = commitment();
    const worse = {
      ...report,
      cells: report.cells.map((cell) => ({
        ...cell,
        policies: cell.policies.map((one) => (one.name === 'online-randomised' ? { ...one, meanShare: -8.75 } : one)),
      })),
    };
    expect(drawPlot(backtestPlot(worse))).toContain('◀ -875 %');
  });

  it('of more cells than fit are left out with a word about it', () => {
    const report = spot(2);
    const plot = backtestPlot({
      ...report,
      cells: Array.from({ length: 80 }, (_, n) => ({ ...report.cells[n % 4]!, name: `cell-${n}` })),
    });
    expect(plot.panels[0]).toMatchObject({ rows: { length: 61 } });
    expect(plot.subtitle).toContain('60 of 80 cells');
  });
});

describe('the curves', () => {
  it('of scaling go through every risk setting in the order of cost, and keep the published rules in the frame', () => {
    const report = scaling();
    const [panel] = backtestPlot(report).panels as [CurvesPanel];
    const [line, ...points] = panel.series;
    const settings = report.cells[0]!.policies.filter((one) => one.name.startsWith('bursar@'));
    expect(line?.points.map(({ label }) => label)).toEqual(
      [...settings].sort((a, b) => Number(a['costRatio']) - Number(b['costRatio'])).map((one) => one.name),
    );
    for (const {
      name,
      points: [point],
    } of points) {
      expect(point, name).toMatchObject({
        x: report.cells[0]!.policies.find((one) => one.name === name)?.['costRatio'],
      });
      expect(point!.x).toBeLessThanOrEqual(panel.x.max!);
      expect(point!.y).toBeLessThanOrEqual(panel.y.max!);
    }
  });

  it('of a policy add up day by day to the cost of the window; what has no days is a point at its end', () => {
    const [panel] = backtestPlot(POLICY).panels as [CurvesPanel];
    const at = (day: number, hour = 0): number => Date.UTC(2026, 9, day, hour);
    expect(panel.series.map(({ name, marks, points }) => [name, marks, points])).toEqual([
      [
        'none',
        'line',
        [
          { x: at(1), y: 0 },
          { x: at(2), y: 10 },
          { x: at(3), y: 20 },
          { x: at(3, 12), y: 25 },
        ],
      ],
      [
        'look-back-7d',
        'line',
        [
          { x: at(1), y: 0 },
          { x: at(2), y: 8 },
          { x: at(3), y: 16 },
          { x: at(3, 12), y: 20 },
        ],
      ],
      [
        'bursar',
        'line',
        [
          { x: at(1), y: 0 },
          { x: at(2), y: 7 },
          { x: at(3), y: 14 },
          { x: at(3, 12), y: 17 },
        ],
      ],
      ['clairvoyant', 'points', [{ x: at(3, 12), y: 15 }]],
    ]);
    expect(panel.y.title).toBe('cumulative cost (USD)');
  });

  it('are none of what nobody can price: neither cost nor saving is drawn as zero, and the reason is said', () => {
    const unknown = [{ name: 'serving-training-1', why: 'its term is not known' }];
    const nothing = {
      name: 'lab/workloads',
      count: 1,
      unknown,
      policies: ['none', 'bursar'].map((name) => ({ name, meanCost: null, meanShare: null, cost: null, saved: null })),
    };
    const plot = backtestPlot({ ...POLICY, cells: [nothing] });
    expect(plot.panels[0]?.title).toBe(
      'lab/workloads (cost and saving are unknown: serving-training-1: its term is not known)',
    );
    expect(tablesOf(plot)[0]?.rows).toEqual([
      ['none', null],
      ['bursar', null],
    ]);
    expect(wordsOf(plot)).toContain('bursar: USD unknown');
    const part = backtestPlot({ ...POLICY, cells: [{ ...POLICY.cells[0]!, count: 3, unknown }] });
    expect(part.panels[0]?.title).toBe('lab/demand (1 of 3 are in no line: serving-training-1: its term is not known)');
  });

  it('say what has no price, which is not what costs nothing', () => {
    const cells = POLICY.cells.map((cell) => ({
      ...cell,
      policies: cell.policies.map((one) => (one.name === 'bursar' ? { ...one, unpricedGpuHours: 48.25 } : one)),
    }));
    expect(backtestPlot({ ...POLICY, cells }).panels[0]?.title).toBe(
      'lab/demand (48.25 GPU-hours have no price and are not included)',
    );
  });

  it('are bars where a report knows no days', () => {
    const { series: _, ...cell } = POLICY.cells[0]!;
    const [panel] = backtestPlot({ ...POLICY, cells: [cell] }).panels as [RowsPanel];
    expect(panel).toMatchObject({
      kind: 'rows',
      rows: ['none', 'look-back-7d', 'bursar', 'clairvoyant'],
      series: [{ values: [25, 20, 17, 15] }],
    });
  });

  it('hold the cells in which most changes, where there are too many', () => {
    const cells = Array.from({ length: 30 }, (_, n) => ({
      ...POLICY.cells[0]!,
      name: `team-${n}/demand`,
      policies: [
        { name: 'none', meanCost: 0, meanShare: null, cost: 100 },
        { name: 'bursar', meanCost: 0, meanShare: null, cost: 100 - n },
      ],
    }));
    const plot = backtestPlot({ ...POLICY, cells });
    expect(plot.panels.map(({ title }) => title)).toEqual(
      Array.from({ length: 12 }, (_, n) => `team-${29 - n}/demand`),
    );
    expect(plot.subtitle).toContain('12 of 30 cells');
  });
});

describe('names', () => {
  it('that are long, Chinese or markup are drawn without breaking anything', async () => {
    const name = '训练团队-the-team-that-trains-the-largest-models-of-the-house-and-has-a-name-to-match <b>&amp;"';
    const cells = POLICY.cells.map((cell) => ({ ...cell, name }));
    const svg = drawPlot(
      backtestPlot({ ...POLICY, settings: { ...POLICY.settings, document: `${name}${name}` }, cells }),
    );
    expect(() => new Resvg(svg)).not.toThrow();
    expect(svg).toContain('训练团队');
    expect(svg).not.toContain('<b>');
    const png = decodePng(await renderPng(svg, 1));
    // Nothing runs over the right edge.
    for (let y = 0; y < png.height; y++) expect(png.at(png.width - 3, y)).toEqual([255, 255, 255]);
  });

  it('of many series differ in form or colour, pair by pair', () => {
    const names = Array.from({ length: 30 }, (_, n) => `rule-${n}`);
    const svg = drawPlot({
      title: 't',
      subtitle: '',
      panels: [
        {
          kind: 'curves',
          title: 'p',
          x: { title: 'x', unit: 'number' },
          y: { title: 'y', unit: 'number' },
          series: names.map((name, n) => ({ name, marks: 'points' as const, points: [{ x: n, y: n }] })),
        },
      ],
    });
    const marks = [...svg.matchAll(/<path d="([^"]+)"[^>]*fill="(#(?!fff)[0-9a-fA-F]{6})"/g)].map(
      ([, shape, fill]) => `${shape?.replace(/[\d.\- ,]+/g, '')} ${fill}`,
    );
    expect(new Set(marks).size).toBeGreaterThanOrEqual(20);
  });
});
