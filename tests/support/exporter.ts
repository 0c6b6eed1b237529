/**
 * An exporter whose exposition a test sets, and a real Prometheus that scrapes it every second. Both listen on
 * 127.0.0.1 on free ports until they are
 * closed; what Prometheus keeps lies in a temporary folder. DCGM expositions are built from the counter list of the
 * fixtures, with invented values: no complete scrape of a dcgm-exporter is at hand.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createSocket, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ROOT } from './source.js';

export interface Exporter {
  /** `127.0.0.1:port`: what Prometheus calls the instance. */
  readonly instance: string;
  /** What /metrics answers from now on; null: it does not answer. */
  serve(exposition: string | null): void;
  close(): void;
}

export async function startExporter(exposition: string): Promise<Exporter> {
  let current: string | null = exposition;
  const server = createServer((_, response) => {
    if (current === null) response.destroy();
    else response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(current);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    instance: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    serve: (next) => void (current = next),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A captured exposition of the fixtures. */
export const captured = (name: string): string =>
  readFileSync(path.join(ROOT, 'tests/fixtures/gpu-metrics', name), 'utf8');

export interface DcgmLine {
  readonly field: string;
  readonly labels: Readonly<Record<string, string>>;
  /** As it is written, so that blanks keep their digits. */
  readonly value: string;
}

/**
 * An exposition in dcgm-exporter's form, with the types and help texts of its counter list. @throws Error for a field
 * that is not in the list
 */
export function dcgmExposition(lines: readonly DcgmLine[]): string {
  const counters = new Map(
    captured('dcgm-counters.csv')
      .trim()
      .split('\n')
      .map((line) => {
        const [field = '', type = '', help = ''] = line.split(/,\s*/, 3);
        return [field.trim(), { type, help }];
      }),
  );
  return (
    [...new Set(lines.map(({ field }) => field))]
      .flatMap((field) => {
        const counter = counters.get(field);
        if (counter === undefined) throw new Error(`${field} is not in the counter list`);
        const own = lines
          .filter((line) => line.field === field)
          .map(
            ({ labels, value }) =>
              `${field}{${Object.entries(labels)
                .map(([name, text]) => `${name}="${text}"`)
                .join(',')}} ${value}`,
          );
        return [`# HELP ${field} ${counter.help}`, `# TYPE ${field} ${counter.type}`, ...own];
      })
      .join('\n') + '\n'
  );
}

async function freePort(): Promise<number> {
  const socket = createSocket();
  await new Promise<void>((resolve) => socket.listen(0, '127.0.0.1', resolve));
  const { port } = socket.address() as AddressInfo;
  await new Promise((resolve) => socket.close(resolve));
  return port;
}

export interface ScrapeJob {
  readonly job: string;
  readonly targets: readonly { readonly instance: string; readonly labels?: Readonly<Record<string, string>> }[];
}

export interface PrometheusServer {
  readonly url: string;
  /** Ends it, by its process, and removes what it kept. */
  close(): Promise<void>;
}

/** Starts Prometheus and waits until it answers. */
export async function startPrometheus(
  program: string,
  jobs: readonly ScrapeJob[],
  /** Puts earlier data into the folder that it keeps its data in, before it starts. */
  prepare: (data: string) => Promise<void> = async () => {},
): Promise<PrometheusServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'bursar-prometheus-'));
  const port = await freePort();
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '900ms' },
    scrape_configs: jobs.map(({ job, targets }) => ({
      job_name: job,
      static_configs: targets.map(({ instance, labels = {} }) => ({ targets: [instance], labels })),
    })),
  };
  // YAML holds JSON.
  await writeFile(path.join(folder, 'prometheus.yml'), JSON.stringify(config));
  await prepare(path.join(folder, 'data'));
  const child = spawn(
    program,
    [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      '--storage.tsdb.retention.time=30y',
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${port}`;
  for (let looks = 0; looks < 600; looks += 1) {
    if (child.exitCode !== null) break;
    if (
      await fetch(`${url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return { url, close };
    await pause(50);
  }
  await close();
  throw new Error(`Prometheus is not ready: ${said}`);
}

/** Asks again until the answer is one, or the test's own time is over. */
export async function until<T>(ask: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
    await pause(100);
  }
}
