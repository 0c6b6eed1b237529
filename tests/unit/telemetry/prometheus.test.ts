/** Prometheus' answers as samples: units, blanks, labels; its statuses as failures; the settings. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GpuSample, TelemetryReading } from '../../../src/core/ports.js';
import { MINUTE_MS } from '../../../src/core/time.js';
import { source } from '../../../src/telemetry/prometheus.js';
import { isBlank, METRICS, valueOf } from '../../../src/telemetry/reading/measures.js';
import { ExporterNames, readingsOf, type Answers, type Series } from '../../../src/telemetry/reading/series.js';

const AT = Date.UTC(2026, 10, 21, 8);
const S = AT / 1000;

const value = (metric: string, text: string, said: 'ratio' | 'percent' | 'bytes' | 'mib' | null = null): unknown =>
  valueOf(METRICS.get(metric)!, text, said);

describe('values', () => {
  it.each([
    ['DCGM_FI_DEV_GPU_UTIL', '73', 0.73],
    ['DCGM_FI_DEV_GPU_UTIL', '1', 0.01],
    ['DCGM_FI_PROF_GR_ENGINE_ACTIVE', '0.5', 0.5],
    ['DCGM_FI_PROF_GR_ENGINE_ACTIVE', '1.004', 1],
    ['DCGM_FI_DEV_FB_USED', '8192', 8192],
    ['nvidia_smi_memory_used_bytes', '1.1665408e+10', 11_125],
    ['nvidia_smi_utilization_gpu_ratio', '0.09', 0.09],
    ['nv_gpu_utilization', '0.9', 0.9],
    ['DCGM_FI_DEV_POWER_USAGE', '71.2', 71.2],
  ])('%s %s', (metric, text, expected) => expect(value(metric, text)).toBe(expected));

  it.each([
    // dcgm_structs.h: the 32-bit, 64-bit and double blanks, each with not found, not supported and not permissioned.
    // 9223372036854775794 as dcgm-exporter writes it.
    '2147483632',
    '2147483633',
    '2147483634',
    '2147483635',
    '140737488355328',
    '140737488355329',
    '140737488355330',
    '140737488355331',
    '9223372036854775792',
    '9223372036854775794',
    '9.223372036854776e+18',
    'NaN',
    '+Inf',
    '-Inf',
    '',
    'Infinity',
  ])('%s is blank in every metric', (text) => {
    for (const metric of METRICS.values()) expect(valueOf(metric, text)).toBe('blank');
  });

  it('are no blanks where they are large for another reason', () => {
    expect([isBlank(2_147_483_631), isBlank(2_147_483_648), isBlank(85_520_809_984)]).toEqual([false, false, false]);
    expect(value('nvidia_smi_memory_total_bytes', '8.5520809984e+10')).toBe(81_559);
  });

  it('whose name leaves the unit open are read where the size leaves one reading, or where a setting says it', () => {
    // 0.9 may be 90 % or 0.9 %: nobody can tell, and a busy card must not look idle.
    expect([
      value('gpu_utilization', '0.9'),
      value('gpu_utilization', '1'),
      value('gpu_utilization', '0'),
      value('gpu_utilization', '37'),
    ]).toEqual(['unit-unknown', 'unit-unknown', 0, 0.37]);
    expect([value('gpu_utilization', '0.5', 'ratio'), value('gpu_utilization', '0.5', 'percent')]).toEqual([
      0.5, 0.005,
    ]);
    expect([
      value('fb_memory_used', '8192'),
      value('fb_memory_used', String(8192 * 2 ** 20)),
      value('fb_memory_used', '5000000'),
      value('fb_memory_used', '5242880', 'bytes'),
    ]).toEqual([8192, 8192, 'unit-unknown', 5]);
  });

  it('that cannot be are none', () => {
    expect([
      value('DCGM_FI_DEV_GPU_UTIL', '101.5'),
      value('DCGM_FI_DEV_GPU_UTIL', '-1'),
      value('DCGM_FI_DEV_GPU_TEMP', '400'),
      value('DCGM_FI_DEV_FB_USED', '2000000'),
    ]).toEqual(['impossible', 'impossible', 'impossible', 'impossible']);
  });
});

const series = (name: string, labels: Record<string, string>, ...points: (readonly [number, string])[]): Series => ({
  labels: { __name__: name, ...labels },
  points,
});
const answers = (gpus: Series[], over: Partial<Answers> = {}): Answers => ({
  gpus,
  up: [],
  requests: [],
  latency: [],
  units: {},
  ...over,
});
const samplesAt = (given: Answers, at = AT): readonly GpuSample[] => readingsOf(given, [at])[0]!.samples;

const CARD = {
  UUID: 'GPU-1',
  gpu: '0',
  Hostname: 'node-1',
  job: 'dcgm',
  instance: '10.0.0.1:9400',
  modelName: 'NVIDIA A100-SXM4-80GB',
};
const POD = {
  ...CARD,
  exported_namespace: 'ml',
  exported_pod: 'trainer-6d4cf56db6-x7k2p',
  namespace: 'gpu-operator',
  pod: 'dcgm-exporter-abcde',
};

describe('series', () => {
  it('of one card are one sample; the busier of two measures of its use counts, a blank one does not', () => {
    const [sample, ...more] = samplesAt(
      answers([
        series('DCGM_FI_DEV_GPU_UTIL', POD, [S, '40']),
        series('DCGM_FI_PROF_GR_ENGINE_ACTIVE', POD, [S, '0.62']),
        series('DCGM_FI_DEV_FB_USED', POD, [S, '20480']),
        series('DCGM_FI_DEV_FB_FREE', POD, [S, '61440']),
        series('DCGM_FI_DEV_GPU_TEMP', POD, [S, '71']),
        series('DCGM_FI_DEV_PCIE_REPLAY_COUNTER', POD, [S, '9']),
        series('DCGM_FI_DEV_POWER_USAGE', POD, [S, '9223372036854775794']),
      ]),
    );
    expect(more).toEqual([]);
    expect(sample).toMatchObject({
      resource: 'pod/ml/trainer-6d4cf56db6-x7k2p',
      namespace: 'ml',
      pod: 'trainer-6d4cf56db6-x7k2p',
      gpu: 'GPU-1',
      migInstance: null,
      gpuModel: 'A100-80GB',
      exporter: 'dcgm/10.0.0.1:9400',
      at: AT,
      gpuUtilisationRatio: 0.62,
      memoryUsedMib: 20_480,
      memoryUsedRatio: 0.25,
      temperatureCelsius: 71,
      pcieReplays: 9,
      powerWatts: null,
      requestsPerSecond: null,
      networkLatencySeconds: null,
      fault: null,
    });
  });

  it("never give a card to the exporter's own pod", () => {
    const own = { ...CARD, namespace: 'gpu-operator', pod: 'dcgm-exporter-abcde' };
    const up = [
      series('up', { job: 'dcgm', instance: '10.0.0.1:9400', namespace: 'gpu-operator', pod: 'dcgm-exporter-abcde' }, [
        S,
        '1',
      ]),
    ];
    expect(samplesAt(answers([series('DCGM_FI_DEV_GPU_UTIL', own, [S, '0'])], { up }))).toMatchObject([
      { resource: 'node-1', pod: null, namespace: null },
    ]);
    // With honor_labels the pod is the one that holds the card.
    const honoured = { ...CARD, namespace: 'ml', pod: 'web-0' };
    expect(samplesAt(answers([series('DCGM_FI_DEV_GPU_UTIL', honoured, [S, '0'])], { up }))).toMatchObject([
      { resource: 'pod/ml/web-0', pod: 'web-0', namespace: 'ml' },
    ]);
  });

  it("of MIG instances are samples of their own; heat and PCIe are the card's, power is not shared out", () => {
    const slice = (id: string, profile: string, pod: string): Record<string, string> => ({
      ...CARD,
      GPU_I_ID: id,
      GPU_I_PROFILE: profile,
      exported_namespace: 'ml',
      exported_pod: pod,
    });
    const samples = samplesAt(
      answers([
        series('DCGM_FI_DEV_GPU_TEMP', CARD, [S, '66']),
        series('DCGM_FI_DEV_POWER_USAGE', CARD, [S, '300']),
        series('DCGM_FI_DEV_PCIE_REPLAY_COUNTER', CARD, [S, '2']),
        series('DCGM_FI_PROF_GR_ENGINE_ACTIVE', slice('1', '3g.40gb', 'a'), [S, '0.9']),
        series('DCGM_FI_PROF_GR_ENGINE_ACTIVE', slice('5', '1g.10gb', 'b'), [S, '0']),
      ]),
    );
    expect(
      samples.map(
        ({ resource, migInstance, gpuUtilisationRatio, temperatureCelsius, powerWatts, pcieReplays, labels }) => [
          resource,
          migInstance,
          gpuUtilisationRatio,
          temperatureCelsius,
          powerWatts,
          pcieReplays,
          labels['mig_profile'],
        ],
      ),
    ).toEqual([
      ['node-1', null, null, 66, 300, 2, undefined],
      ['pod/ml/a', '1', 0.9, 66, null, 2, '3g.40gb'],
      ['pod/ml/b', '5', 0, 66, null, 2, '1g.10gb'],
    ]);
  });

  it('make no sample where they have no point, and one that knows nothing where they are blank', () => {
    const given = answers([series('DCGM_FI_DEV_GPU_UTIL', POD, [S, '50'], [S + 120, 'NaN'])]);
    expect(
      readingsOf(given, [AT, AT + MINUTE_MS, AT + 2 * MINUTE_MS]).map(({ samples }) =>
        samples.map(({ gpuUtilisationRatio }) => gpuUtilisationRatio),
      ),
    ).toEqual([[0.5], [], [null]]);
  });

  it('name their workload, and get the requests and the latency of their pod, workload or host', () => {
    const requests = [
      series('', { namespace: 'ml', pod: POD.exported_pod }, [S, '12.5']),
      series('', { host: 'node-2' }, [S, '3']),
    ];
    const latency = [
      series('', { instance: 'node-1:9115' }, [S, '0.0004']),
      series('', { instance: 'node-1:9115', probe: 'b' }, [S, '0.0031']),
      series('', { node: 'node-2' }, [S, 'NaN']),
    ];
    const other = { ...CARD, UUID: 'GPU-2', Hostname: 'node-2', workload: 'chat' };
    expect(
      samplesAt(
        answers([series('DCGM_FI_DEV_GPU_UTIL', POD, [S, '1']), series('DCGM_FI_DEV_GPU_UTIL', other, [S, '1'])], {
          requests,
          latency,
        }),
      ),
    ).toMatchObject([
      { requestsPerSecond: 12.5, networkLatencySeconds: 0.0031 },
      { requestsPerSecond: 3, networkLatencySeconds: null, labels: { workload: 'chat' } },
    ]);
  });

  it('say which cards are broken: an XID that ends a card, not one that an application causes', () => {
    const xid = (text: string): unknown =>
      samplesAt(answers([series('DCGM_FI_DEV_XID_ERRORS', CARD, [S, text])]))[0]?.fault;
    expect([xid('0'), xid('13'), xid('31'), xid('79'), xid('48'), xid('9223372036854775794')]).toEqual([
      null,
      null,
      null,
      'XID 79',
      'XID 48',
      null,
    ]);
    expect(samplesAt(answers([series('DCGM_FI_DEV_ROW_REMAP_FAILURE', CARD, [S, '1'])]))[0]?.fault).toBe(
      'row remapping failed',
    );
  });

  it('say how many exporters answered, and what could not be read', () => {
    const up = [
      series('up', { job: 'dcgm', instance: 'a' }, [S, '1']),
      series('up', { job: 'dcgm', instance: 'b' }, [S, '0']),
      series('up', { job: 'dcgm', instance: 'c' }, [S, '1']),
      series('up', { job: 'dcgm', instance: 'd' }, [S, '1']),
    ];
    const gpus = [series('gpu_utilization', CARD, [S, '0.9']), series('DCGM_FI_DEV_GPU_TEMP', CARD, [S, '999'])];
    expect(readingsOf(answers(gpus, { up }), [AT], ['the answer is partial: one store is down'])).toMatchObject([
      {
        coverage: 0.75,
        exportersUp: ['dcgm/a', 'dcgm/c', 'dcgm/d'],
        samples: [{ gpuUtilisationRatio: null, temperatureCelsius: null }],
        problems: [
          'the answer is partial: one store is down',
          'DCGM_FI_DEV_GPU_TEMP has values that are impossible in its unit',
          'gpu_utilization has values of an unknown unit: set it in BURSAR_PROMETHEUS_UNITS',
        ],
      },
    ]);
    expect(readingsOf(answers(gpus), [AT])[0]).toMatchObject({ coverage: null });
    expect(readingsOf(answers(gpus), [AT])[0]).not.toHaveProperty('exportersUp');
  });

  it('tell two exporters of one job and address apart by their places, and go on doing so', () => {
    const here = { job: 'dcgm', instance: '172.31.200.8:9400', region: 'us-east-1' };
    const there = { ...here, region: 'ap-south-1', vpc_id: 'vpc-foreign' };
    const gpus = [here, there].map((labels, n) =>
      series('DCGM_FI_DEV_GPU_TEMP', { ...labels, UUID: `GPU-${n}` }, [S, '50']),
    );
    const up = [series('up', here, [S, '0']), series('up', there, [S, '1'])];
    const names = new ExporterNames();
    const [both] = readingsOf(answers(gpus, { up }), [AT], [], names);
    const foreign = 'dcgm/172.31.200.8:9400{region="ap-south-1",vpc_id="vpc-foreign"}';
    expect(both?.exportersUp).toEqual([foreign]);
    expect(both?.samples.map(({ exporter }) => exporter)).toEqual([
      'dcgm/172.31.200.8:9400{region="us-east-1",vpc_id=""}',
      foreign,
    ]);
    const [later] = readingsOf(answers([], { up: up.slice(1) }), [AT], [], names);
    expect(later?.exportersUp).toEqual([foreign]);
    // The pod of an exporter is no place: a new one at its address goes on in its name.
    const pods = ['a', 'b'].map((pod) => series('up', { ...here, pod }, [S, '1']));
    expect(readingsOf(answers([], { up: pods }), [AT])[0]?.exportersUp).toEqual([
      'dcgm/172.31.200.8:9400',
      'dcgm/172.31.200.8:9400',
    ]);
  });
});

describe('the API', () => {
  let server: Server;
  let url = '';
  let reply: { status: number; body: string } = { status: 200, body: '' };
  const asked: { endpoint: string; form: URLSearchParams; authorization: string | undefined }[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      let text = '';
      request
        .on('data', (chunk: Buffer) => (text += chunk.toString('utf8')))
        .on('end', () => {
          asked.push({
            endpoint: request.url ?? '',
            form: new URLSearchParams(text),
            authorization: request.headers.authorization,
          });
          response.writeHead(reply.status).end(reply.body);
        });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/prom/`;
  });
  afterAll(() => void server.close());

  async function read(from: number, to: number, settings: Record<string, string> = {}): Promise<TelemetryReading[]> {
    const all: TelemetryReading[] = [];
    for await (const reading of source
      .connect({ BURSAR_PROMETHEUS_URL: url, ...settings }, { now: () => to })
      ?.read(from, to) ?? [])
      all.push(reading);
    return all;
  }
  const success = (resultType: string, result: unknown, more = {}): { status: number; body: string } => ({
    status: 200,
    body: JSON.stringify({ status: 'success', data: { resultType, result }, ...more }),
  });

  it('is asked for whole minutes and then for the instant itself, with the credentials, and partial answers are said to be partial', async () => {
    reply = success('vector', [], { warnings: ['one store is down'] });
    const range = { BURSAR_PROMETHEUS_TOKEN: 's3cret', BURSAR_PROMETHEUS_MATCH: 'cluster="a"' };
    asked.length = 0;
    expect(await read(AT + 20_000, AT + 50_000, range)).toMatchObject([
      { at: AT + 50_000, samples: [], coverage: null, problems: ['the answer is partial: one store is down'] },
    ]);
    expect(asked).toMatchObject(
      Array.from({ length: 2 }, () => ({ endpoint: '/prom/api/v1/query', authorization: 'Bearer s3cret' })),
    );
    // A process that has just started asks who answered a while ago.
    expect(asked[1]?.form.get('query')).toMatch(
      /^group by \(job, instance, .*\) \(last_over_time\(\{__name__=~".*",cluster="a"\}\[30m\]\)\)$/,
    );
    expect(asked[0]?.form.get('time')).toBe(`${S + 50}.000`);
    expect(asked[0]?.form.get('query')).toMatch(
      /^(\{__name__=~"DCGM_FI_DEV_GPU_UTIL\|.*",cluster="a"\}) and last_over_time\(\1\[90s\]\)$/,
    );
    asked.length = 0;
    // 08:01 and 08:02 as minutes, 08:03:30 as it is.
    reply = success('matrix', []);
    expect(
      (await read(AT + 20_000, AT + 210_000, { BURSAR_PROMETHEUS_USER: 'ada', BURSAR_PROMETHEUS_PASSWORD: 'pw' })).map(
        ({ at }) => at,
      ),
    ).toEqual([AT + 60_000, AT + 120_000, AT + 210_000]);
    expect(asked.map(({ endpoint }) => endpoint)).toEqual([
      '/prom/api/v1/query_range',
      '/prom/api/v1/query',
      '/prom/api/v1/query',
    ]);
    expect(asked[0]).toMatchObject({ authorization: `Basic ${Buffer.from('ada:pw').toString('base64')}` });
    expect(Object.fromEntries(asked[0]!.form)).toMatchObject({
      start: `${S + 60}.000`,
      end: `${S + 120}.000`,
      step: '60.000',
    });
  });

  it.each([
    [400, '{"status":"error","errorType":"bad_data","error":"parse error"}', 'invalid', 'bad_data: parse error'],
    [422, '{"status":"error","errorType":"execution","error":"too many samples"}', 'invalid', 'too many samples'],
    [401, 'Unauthorized', 'denied', 'BURSAR_PROMETHEUS_TOKEN'],
    [403, '', 'denied', 'HTTP 403'],
    [503, '{"status":"error","errorType":"timeout","error":"query timed out"}', 'unavailable', 'query timed out'],
    [429, 'slow down', 'unavailable', 'HTTP 429'],
    [502, '<html>', 'unavailable', 'HTTP 502'],
    [200, '<html>', 'invalid', 'not Prometheus'],
    [200, '{"status":"success","data":{"resultType":"streams","result":[]}}', 'invalid', 'not Prometheus'],
  ])('HTTP %i %s', async (status, body, kind, message) => {
    reply = { status, body };
    const failing = read(AT, AT + 1000, { BURSAR_PROMETHEUS_TOKEN: 's3cret' });
    await expect(failing).rejects.toMatchObject({ kind, message: expect.stringContaining(message) as string });
    await expect(failing).rejects.not.toMatchObject({ message: expect.stringContaining('s3cret') as string });
  });

  it('that cannot be reached may pass', async () => {
    await expect(read(AT, AT + 1000, { BURSAR_PROMETHEUS_URL: 'http://127.0.0.1:9' })).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });
});

describe('settings', () => {
  it('that are all absent mean that it is not used', () =>
    expect(source.connect({ BURSAR_PROMETHEUS_URL: '' }, { now: () => AT })).toBeNull());
  it('that are wrong are all named, without a value', () => {
    const settings = {
      BURSAR_PROMETHEUS_URL: 'http://user:hush@host',
      BURSAR_PROMETHEUS_TOKEN: 'hush',
      BURSAR_PROMETHEUS_USER: 'ada',
      BURSAR_PROMETHEUS_MATCH: '{hush}',
      BURSAR_PROMETHEUS_UNITS: 'gpu_utilization=hush',
    };
    try {
      source.connect(settings, { now: () => AT });
      expect.unreachable();
    } catch (error) {
      const problems = (error as { problems: { path: string }[] }).problems.map(({ path }) => path).sort();
      expect(problems).toEqual([
        'BURSAR_PROMETHEUS_MATCH',
        'BURSAR_PROMETHEUS_PASSWORD',
        'BURSAR_PROMETHEUS_TOKEN',
        'BURSAR_PROMETHEUS_UNITS',
        'BURSAR_PROMETHEUS_URL',
      ]);
      expect((error as Error).message).not.toContain('hush');
    }
    expect(() => source.connect({ BURSAR_PROMETHEUS_TOKEN: 't' }, { now: () => AT })).toThrow(
      'BURSAR_PROMETHEUS_URL is missing',
    );
  });
});
