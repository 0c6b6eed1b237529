/**
 * GPU evidence from nvidia-smi's own output (`--query-gpu` as CSV, `-q` as text or XML): a file, a folder with a file
 * per machine, or an address at which an agent keeps its last output.
 *
 * It starts no program and writes nothing. Unreadable output is a problem of the reading and never a sample; a silent
 * machine is not idle.
 */
import type { ProviderSetting } from '../core/setting.js';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { denied, invalid, unavailable, type Problem } from '../core/errors.js';
import type { GpuSample, TelemetryConnection, TelemetryReading, TelemetrySource } from '../core/ports.js';
import { isZone, MINUTE_MS, type Clock } from '../core/time.js';
import type { SmiRead } from './reading/smi-cells.js';
import { isCsv, readCsv } from './reading/smi-csv.js';
import { isQueryText, isQueryXml, readQuery } from './reading/smi-query.js';
import { samplesOf } from './reading/smi-samples.js';

const MOST_BYTES = 256 << 20;
const MOST_FILES = 10_000;
const TIMEOUT_MS = 20_000;
const OUTPUT = /\.(?:csv|txt|log|xml|out)$/;

const setting = (name: string, description: string, over: Partial<ProviderSetting> = {}): ProviderSetting => ({
  name: `BURSAR_NVIDIA_SMI_${name}`,
  description,
  required: false,
  secret: false,
  use: 'read',
  ...over,
});

const SETTINGS: readonly ProviderSetting[] = [
  setting(
    'PATH',
    'File with the output of nvidia-smi, or a folder of such files (.csv, .txt, .log, .xml, .out), each named after its machine',
  ),
  setting('URL', 'Address that answers with the output of nvidia-smi'),
  setting('TOKEN', 'Bearer token for that address', { secret: true }),
  setting('ZONE', "IANA time zone of the machines' clocks, which the output does not state; default: UTC"),
];

const schema = z.object({
  PATH: z.string().optional(),
  URL: z.url({ protocol: /^https?$/, error: 'is not an http:// or https:// address' }).optional(),
  TOKEN: z.string().optional(),
  ZONE: z.string().refine(isZone, 'is not an IANA time zone').default('UTC'),
});
type Given = z.infer<typeof schema>;

/** @throws Failure invalid that names every wrong setting, never a value. */
function readSettings(settings: Readonly<Record<string, string | undefined>>): Given | null {
  const present = Object.fromEntries(
    SETTINGS.map(({ name }) => [
      name.replace('BURSAR_NVIDIA_SMI_', ''),
      settings[name] === '' ? undefined : settings[name],
    ]),
  );
  if (Object.values(present).every((value) => value === undefined)) return null;
  const parsed = schema.safeParse(present);
  const problems: Problem[] = (parsed.error?.issues ?? []).map((issue) => ({
    path: `BURSAR_NVIDIA_SMI_${issue.path.join('.')}`,
    message: issue.message,
  }));
  if ((present['PATH'] === undefined) === (present['URL'] === undefined))
    problems.push({ path: 'BURSAR_NVIDIA_SMI_PATH', message: 'and BURSAR_NVIDIA_SMI_URL: give one of the two' });
  if (present['TOKEN'] !== undefined && present['URL'] === undefined)
    problems.push({ path: 'BURSAR_NVIDIA_SMI_TOKEN', message: 'is for an address: BURSAR_NVIDIA_SMI_URL is missing' });
  if (!parsed.success || problems.length > 0)
    throw invalid(
      `the settings of nvidia-smi are wrong: ${problems.map((problem) => `${problem.path} ${problem.message}`).join('; ')}`,
      problems,
    );
  return parsed.data;
}

/** The output of one machine, as it was found. */
interface Output {
  readonly host: string;
  readonly text: string;
  /** When it was written, for outputs that do not say it. */
  readonly at: number;
}

interface Outputs {
  readonly outputs: readonly Output[];
  /** Machines that should report, with what was not new. */
  readonly machines: number;
  readonly problems: readonly string[];
}

/** The rows of an output in whichever form it is. */
export function readOutput(text: string, zone: string): SmiRead {
  if (isQueryXml(text) || isQueryText(text)) return readQuery(text, zone);
  if (isCsv(text)) return readCsv(text, zone);
  return { rows: [], problems: ['is neither CSV with a header nor the output of nvidia-smi -q'] };
}

class SmiConnection implements TelemetryConnection {
  readonly name = 'nvidia-smi';

  constructor(
    private readonly given: Given,
    private readonly clock: Clock,
  ) {}

  /** One reading a minute; the minute of `from` is read again as a whole, so that its means are of all its readings. */
  async *read(from: number, to: number): AsyncIterable<TelemetryReading> {
    const start = Math.floor(from / MINUTE_MS) * MINUTE_MS;
    const now = Math.max(to, this.clock.now());
    const { outputs, machines, problems } =
      this.given.PATH === undefined ? await this.fetched(this.given.URL ?? '') : await filesOf(this.given.PATH, start);
    const all: string[] = [...problems];
    const minutes = new Map<number, GpuSample[]>();
    for (const { host, text, at } of outputs) {
      const read = readOutput(text, this.given.ZONE);
      all.push(...read.problems.map((problem) => `${host}: ${problem}`));
      const rows = read.rows.filter((row) => (row.at ?? at) >= start && (row.at ?? at) <= to);
      if (read.rows.some((row) => (row.at ?? at) > now + MINUTE_MS))
        all.push(`${host}: its clock is ahead: BURSAR_NVIDIA_SMI_ZONE may be wrong`);
      for (const sample of samplesOf(rows, host, at)) {
        const minute = Math.floor(sample.at / MINUTE_MS);
        minutes.set(minute, [...(minutes.get(minute) ?? []), sample]);
      }
    }
    const sorted = [...minutes].sort(([a], [b]) => a - b);
    for (const [, samples] of sorted) {
      const up = [...new Set(samples.map(({ exporter }) => exporter ?? ''))].sort();
      yield {
        at: samples.reduce((latest, { at }) => Math.max(latest, at), 0),
        samples,
        coverage: machines === 0 ? null : Math.min(1, up.length / machines),
        problems: all,
        exportersUp: up,
      };
    }
    // Nothing new: machines may report late, so nothing is said of the time since.
    if (sorted.length === 0)
      yield { at: from, samples: [], coverage: machines === 0 ? null : 0, problems: all, exportersUp: [] };
  }

  private async fetched(address: string): Promise<Outputs> {
    const { host } = new URL(address);
    let response: Response;
    try {
      response = await fetch(address, {
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: this.given.TOKEN === undefined ? {} : { authorization: `Bearer ${this.given.TOKEN}` },
      });
    } catch (cause) {
      throw unavailable(`the output of nvidia-smi at ${host} cannot be fetched`, cause);
    }
    if (response.status === 401 || response.status === 403)
      throw denied(
        `${host} refuses the output of nvidia-smi (HTTP ${response.status}): it needs BURSAR_NVIDIA_SMI_TOKEN`,
      );
    if (!response.ok)
      throw unavailable(`${host} did not answer with the output of nvidia-smi (HTTP ${response.status})`);
    const text = await response.text();
    const modified = Date.parse(response.headers.get('last-modified') ?? '');
    return {
      outputs: [{ host: new URL(address).hostname, text, at: Number.isNaN(modified) ? this.clock.now() : modified }],
      machines: 1,
      problems: [],
    };
  }
}

/** Files that were written after `since`. @throws Failure unavailable if the path cannot be read */
async function filesOf(place: string, since: number): Promise<Outputs> {
  const problems: string[] = [];
  try {
    const isFolder = (await stat(place)).isDirectory();
    const files = isFolder
      ? (await readdir(place))
          .filter((file) => OUTPUT.test(file))
          .sort()
          .map((file) => path.join(place, file))
      : [place];
    if (files.length > MOST_FILES) problems.push(`there are more than ${MOST_FILES} files: only the first are read`);
    const outputs: Output[] = [];
    for (const file of files.slice(0, MOST_FILES)) {
      const { mtimeMs, size } = await stat(file);
      const host = path.basename(file).replace(OUTPUT, '');
      if (size > MOST_BYTES) problems.push(`${host}: is larger than ${MOST_BYTES >> 20} MiB and is not read`);
      else if (mtimeMs >= since) outputs.push({ host, text: await readFile(file, 'utf8'), at: Math.floor(mtimeMs) });
    }
    return { outputs, machines: files.length, problems };
  } catch (cause) {
    throw unavailable('the output of nvidia-smi at BURSAR_NVIDIA_SMI_PATH cannot be read', cause);
  }
}

export const source: TelemetrySource = {
  name: 'nvidia-smi',
  description: 'The output of nvidia-smi, in files or at an address: --query-gpu as CSV, -q as text or XML',
  settings: SETTINGS,
  connect(settings, clock) {
    const given = readSettings(settings);
    return given === null ? null : new SmiConnection(given, clock);
  },
};
