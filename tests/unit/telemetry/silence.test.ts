/**
 * Exporters that fell silent, from hand-made scrapes: which belong to one machine, what fell silent with them, what
 * answers, and who is blind.
 */
import { describe, expect, it } from 'vitest';
import type { SilentExporter } from '../../../src/core/fleet/silence.js';
import { ExporterNames, type Series } from '../../../src/telemetry/reading/series.js';
import { KnownExporter, silentExporters } from '../../../src/telemetry/reading/silence.js';

const AT = 1_800_000_000_000;
type Labels = Readonly<Record<string, string>>;

/** A target that is scraped every five seconds: `1110` failed just now; a dot is a scrape that was not made. */
const target = (labels: Labels, scrapes: string): Series => ({
  labels,
  points: [...scrapes].flatMap((mark, n) =>
    mark === '.' ? [] : [[(AT - (scrapes.length - 1 - n) * 5000) / 1000, mark] as const],
  ),
});
const known = (...all: readonly Labels[]): Map<string, KnownExporter> => {
  const exporters = new Map<string, KnownExporter>();
  for (const labels of all) {
    const name = `${labels['job']}/${labels['instance']}`;
    const one = exporters.get(name) ?? new KnownExporter();
    one.add(labels);
    exporters.set(name, one);
  }
  return exporters;
};
const DCGM = { job: 'dcgm', instance: '10.0.0.1:9400' };
const KNOWN = known({ ...DCGM, Hostname: 'node-1' });
const NODE = { job: 'node', instance: '10.0.0.1:9100' };
const KUBELET = { job: 'kubelet', instance: '192.168.7.1:10250', node: 'node-1' };
const ELSEWHERE = { job: 'node', instance: '10.0.0.2:9100' };

const told = (window: readonly Series[], withdrawn: readonly Labels[] = [], exporters = KNOWN): SilentExporter[] => {
  const now = window.filter(({ labels }) => !withdrawn.includes(labels));
  return silentExporters(exporters, now, window, AT);
};
const ago = (seconds: number): number => AT - seconds * 1000;

describe('an exporter that is silent', () => {
  it('is told of with its machine: by address and by name, with every failed scrape', () => {
    expect(
      told([target(DCGM, '111000'), target(NODE, '111100'), target(KUBELET, '111.00'), target(ELSEWHERE, '111111')]),
    ).toEqual([
      {
        exporter: 'dcgm/10.0.0.1:9400',
        names: ['10.0.0.1', 'node-1'],
        since: ago(10),
        until: AT,
        failures: 7,
        othersSilent: 2,
        othersAnswering: 0,
        machinesSilent: 1,
        machinesAnswering: 1,
        answeredAt: ago(15),
      },
    ]);
  });

  it('is not answered for by a machine of the same address in another place', () => {
    const here = { ...DCGM, region: 'us-east-1' };
    const there = { ...NODE, region: 'ap-south-1' };
    const [silent] = told([target(here, '111000'), target(there, '111111')]);
    expect(silent).toMatchObject({ othersAnswering: 0 });
    const [beside] = told([target(here, '111000'), target({ ...NODE, region: 'us-east-1' }, '111111')]);
    expect(beside).toMatchObject({ othersAnswering: 1 });
    const names = new ExporterNames();
    const twin = { ...DCGM, region: 'ap-south-1' };
    names.learn([target(here, '0'), target(twin, '1')]);
    const window = [target(here, '111000'), target(twin, '111111')];
    const exporters = new Map([[names.nameOf(here), KNOWN.get('dcgm/10.0.0.1:9400')!]]);
    expect(silentExporters(exporters, window, window, AT, names)).toMatchObject([
      { exporter: 'dcgm/10.0.0.1:9400{region="us-east-1"}', othersAnswering: 0 },
    ]);
  });

  it('is restarted, where something else on the machine answers since; what answered before that tells nothing', () => {
    expect(told([target(DCGM, '111000'), target(NODE, '111111')])).toMatchObject([
      { othersSilent: 0, othersAnswering: 1, failures: 3 },
    ]);
    expect(told([target(DCGM, '111000'), target(NODE, '11....')])).toMatchObject([
      { othersSilent: 0, othersAnswering: 0 },
    ]);
  });

  it('has no witness in a target that was silent long before', () => {
    expect(told([target(DCGM, `${'1'.repeat(30)}00`), target(NODE, `1${'0'.repeat(31)}`)])).toMatchObject([
      { failures: 2, othersSilent: 0, othersAnswering: 0 },
    ]);
  });

  it('was withdrawn: it misses scrapes at its own pace, and a withdrawn neighbour is no witness', () => {
    expect(told([target(DCGM, '111...'), target(NODE, '111...')], [DCGM, NODE])).toMatchObject([
      { since: ago(10), until: AT, failures: 3, othersSilent: 0, othersAnswering: 0 },
    ]);
  });

  it('is not told of when it answers, was never seen to answer, or tells of several machines', () => {
    expect(told([target(DCGM, '110011'), target(NODE, '110000')])).toEqual([]);
    expect(told([target(DCGM, '000000')])).toEqual([]);
    expect(
      told([target(DCGM, '111000')], [], known({ ...DCGM, Hostname: 'node-1' }, { ...DCGM, Hostname: 'node-2' })),
    ).toEqual([]);
  });

  it('shares no machine with what merely has the same loopback address', () => {
    const local = { job: 'dcgm', instance: '127.0.0.1:9400' };
    expect(
      told(
        [target(local, '111000'), target({ job: 'other', instance: '127.0.0.1:9100' }, '111000')],
        [],
        known({ ...local, Hostname: 'node-1' }),
      ),
    ).toMatchObject([{ names: ['node-1'], othersSilent: 0, failures: 3 }]);
  });

  it('is one of many: all machines that are silent are counted, and all that answer', () => {
    const second = { job: 'dcgm', instance: '10.0.0.3:9400' };
    const exporters = known({ ...DCGM, Hostname: 'node-1' }, { ...second, Hostname: 'node-3' });
    expect(
      told(
        [
          target(DCGM, '111000'),
          target(second, '111000'),
          target(ELSEWHERE, '111111'),
          target({ job: 'prometheus', instance: 'localhost:9090' }, '111111'),
        ],
        [],
        exporters,
      ),
    ).toMatchObject([
      { machinesSilent: 2, machinesAnswering: 2 },
      { machinesSilent: 2, machinesAnswering: 2 },
    ]);
  });
});
