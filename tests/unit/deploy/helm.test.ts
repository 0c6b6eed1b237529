/**
 * The chart: its values and their schema, and what its templates give. Rendered by a small renderer of our own
 * (tests/support/helm.ts): `helm lint` and a cluster's own validation are not run here.
 */
import { Ajv } from 'ajv';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { SETTING_NAMES } from '../../../src/config.js';
import { inspectParts } from '../../../src/parts.js';
import { TRACING_SETTINGS } from '../../../src/tracing.js';
import { Chart, type Manifest } from '../../support/helm.js';
import { ROOT } from '../../support/source.js';

const chart = new Chart(path.join(ROOT, 'deploy/helm/bursar'));
const KEY = `bursar_0123456789ab_${'x'.repeat(43)}`;
const LEAST = { database: { existingSecret: 'bursar-database' } };
const ALL = {
  ...LEAST,
  redis: { existingSecret: 'bursar-redis' },
  imagePullSecrets: [{ name: 'pull' }],
  settings: { BURSAR_TICK_SECONDS: 5, OTEL_SERVICE_NAME: 'bursar' },
  api: { existingSecrets: ['bursar-oidc'], nodeSelector: { disk: 'ssd' } },
  worker: {
    existingSecrets: ['bursar-aws'],
    tolerations: [{ key: 'a', operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
  },
  ingress: { enabled: true, className: 'nginx', tlsSecret: 'tls', annotations: { a: 'b' } },
  kubernetes: { read: true, act: true, cluster: 'lab', account: '42' },
  admission: { enabled: true, key: KEY, certManager: { enabled: true } },
  networkPolicy: { enabled: true, ingressFrom: [{ namespaceSelector: {} }] },
  metrics: {
    serviceMonitor: { enabled: true, keySecret: 'bursar-metrics', labels: { release: 'prometheus' } },
    prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
  },
};

interface Container {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: readonly {
    name: string;
    value?: string;
    valueFrom?: { secretKeyRef: { name: string; key: string } };
  }[];
  readonly envFrom?: readonly { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  readonly securityContext: object;
  readonly volumeMounts: readonly { name: string; mountPath: string }[];
  readonly [other: string]: unknown;
}
interface Pods {
  readonly replicas?: number;
  readonly selector: { matchLabels: Record<string, string> };
  readonly template: {
    metadata: { labels: Record<string, string> };
    spec: {
      containers: readonly Container[];
      volumes: readonly { name: string }[];
      serviceAccountName?: string;
      automountServiceAccountToken: boolean;
      securityContext: object;
    };
  };
}

const pods = ({ spec }: Manifest): Pods => spec as Pods;
const one = (all: readonly Manifest[], kind: string, name: string): Manifest => {
  const found = all.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined)
    throw new Error(
      `no ${kind} ${name} among ${all.map((manifest) => `${manifest.kind} ${manifest.metadata.name}`).join(', ')}`,
    );
  return found;
};
const running = (all: readonly Manifest[]): Manifest[] =>
  all.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
const names = (all: readonly Manifest[]): string[] =>
  all.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();

describe('the values', () => {
  const ajv = new Ajv({ strict: false, allErrors: true });
  const accepts = ajv.compile(chart.schema);
  const problems = (over: Record<string, unknown>): string[] =>
    accepts(chart.valuesWith(over))
      ? []
      : (accepts.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`);

  it('are what their schema allows, from the least to everything', () => {
    expect([problems({}), problems(LEAST), problems(ALL)]).toEqual([[], [], []]);
  });

  it.each([
    ['an unknown value', { worker: { replica: 3 } }],
    ['a secret in the settings', { settings: { BURSAR_AWS_READ_SECRET_ACCESS_KEY: 'x' } }],
    ['a token in the settings', { settings: { BURSAR_KUBERNETES_TOKEN: 'x' } }],
    ['a setting that is not ours', { settings: { PATH: '/' } }],
    ['acting without reading', { kubernetes: { act: true } }],
    ['a choice that is none', { admission: { failurePolicy: 'Maybe' } }],
    ['a key that is none', { admission: { key: 'hush' } }],
  ])('are refused with %s', (_, over) => expect(problems(over)).not.toEqual([]));

  it('may hold no setting that is a secret', async () => {
    const parts = await inspectParts({}, { now: () => 0 });
    const secret = [
      'DATABASE_URL',
      'REDIS_URL',
      'BURSAR_API_KEY',
      'BURSAR_OIDC_CLIENT_SECRET',
      'OTEL_EXPORTER_OTLP_HEADERS',
      ...parts.flatMap(({ part }) => part.settings.filter((setting) => setting.secret).map(({ name }) => name)),
    ];
    const open = parts.flatMap(({ part }) =>
      part.settings.filter((setting) => !setting.secret).map(({ name }) => name),
    );
    expect(secret.length).toBeGreaterThan(10);
    expect(secret.filter((name) => problems({ settings: { [name]: 'x' } }).length === 0)).toEqual([]);
    expect(open.filter((name) => problems({ settings: { [name]: 'x' } }).length > 0)).toEqual([]);
  });

  it('are all explained, and the chart has the version of the package', () => {
    const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(chart.about).toMatchObject({ name: 'bursar', version, appVersion: version });
    const { properties } = chart.schema as { properties: Record<string, unknown> };
    expect(
      Object.keys(properties)
        .filter((name) => name !== 'global')
        .sort(),
    ).toEqual(Object.keys(chart.values).sort());
  });
});

describe('the least that there is', () => {
  const all = chart.manifests(LEAST);

  it('is the API, workers, the migration, a service, and budgets for disruptions', () => {
    expect(names(all)).toEqual([
      'ConfigMap bursar',
      'Deployment bursar-api',
      'Deployment bursar-worker',
      'Job bursar-migrate',
      'PodDisruptionBudget bursar-api',
      'PodDisruptionBudget bursar-worker',
      'Service bursar',
    ]);
  });

  it('says what is missing', () => {
    expect(() => chart.manifests({})).toThrow('database.existingSecret is missing');
    expect(() => chart.manifests({ ...LEAST, admission: { enabled: true, caBundle: 'Y2E=' } })).toThrow(
      'admission.tlsSecret is missing',
    );
    expect(() => chart.manifests({ ...LEAST, admission: { enabled: true, tlsSecret: 'tls' } })).toThrow(
      'admission.caBundle is missing',
    );
  });

  it('is named after its release', () => {
    expect(names(chart.manifests(LEAST, 'lab'))).toContain('Deployment lab-bursar-worker');
    expect(
      names(chart.manifests({ ...LEAST, migration: { enabled: false }, podDisruptionBudget: { enabled: false } })),
    ).toEqual(['ConfigMap bursar', 'Deployment bursar-api', 'Deployment bursar-worker', 'Service bursar']);
  });
});

describe.each([
  ['least', LEAST],
  ['all', ALL],
])('with the %s', (_, values) => {
  const all = chart.manifests(values);

  it('every manifest has its kind, a name of its own, and the labels of the release', () => {
    expect(new Set(names(all)).size).toBe(all.length);
    for (const { apiVersion, metadata } of all) {
      expect(apiVersion).toMatch(/^([a-z0-9.-]+\/)?v\d+$/);
      expect(metadata.labels).toMatchObject({
        'app.kubernetes.io/name': 'bursar',
        'app.kubernetes.io/instance': 'bursar',
        'app.kubernetes.io/managed-by': 'Helm',
        'helm.sh/chart': 'bursar-0.1.0',
      });
    }
  });

  it('what selects pods selects the pods that are there, and one component alone', () => {
    const labelled = running(all).map((manifest) => pods(manifest).template.metadata.labels);
    const chosen = (selector: Record<string, string>): string[] =>
      labelled
        .filter((labels) => Object.entries(selector).every(([key, value]) => labels[key] === value))
        .map((labels) => labels['app.kubernetes.io/component'] ?? '');
    for (const manifest of all.filter(({ kind }) => kind === 'Deployment'))
      expect(chosen(pods(manifest).selector.matchLabels)).toEqual([
        manifest.metadata.labels['app.kubernetes.io/component'],
      ]);
    for (const manifest of all.filter(({ kind }) => kind === 'PodDisruptionBudget'))
      expect(chosen(pods(manifest).selector.matchLabels)).toHaveLength(1);
    for (const { spec } of all.filter(({ kind }) => kind === 'Service'))
      expect(chosen((spec as { selector: Record<string, string> }).selector)).toEqual(['api']);
  });

  it('pods run as nobody in particular, on a file system that they cannot write, with what they mount', () => {
    for (const manifest of running(all)) {
      const { spec } = pods(manifest).template;
      expect(spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      for (const container of spec.containers) {
        expect(container).toMatchObject({
          image: 'bursar:0.1.0',
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
          resources: { requests: {}, limits: {} },
        });
        expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(
          spec.volumes.map(({ name }) => name).sort(),
        );
      }
    }
  });

  it('no secret stands in a manifest: URLs of databases come from Secrets, and every variable is a setting that is known', async () => {
    const parts = await inspectParts({}, { now: () => 0 });
    const known = new Set([
      ...SETTING_NAMES,
      ...TRACING_SETTINGS,
      ...parts.flatMap(({ part }) => part.settings.map(({ name }) => name)),
    ]);
    const secret = new Set([
      'DATABASE_URL',
      'REDIS_URL',
      ...parts.flatMap(({ part }) => part.settings.filter((setting) => setting.secret).map(({ name }) => name)),
    ]);
    const settings = Object.keys(one(all, 'ConfigMap', 'bursar')['data'] as Record<string, string>);
    const variables = running(all).flatMap((manifest) =>
      pods(manifest).template.spec.containers.flatMap(({ env }) => env),
    );
    expect([...settings, ...variables.map(({ name }) => name)].filter((name) => !known.has(name))).toEqual([]);
    expect(
      [...settings, ...variables.filter(({ valueFrom }) => valueFrom === undefined).map(({ name }) => name)].filter(
        (name) => secret.has(name),
      ),
    ).toEqual([]);
    expect(
      all.filter(({ kind, data, stringData }) => kind === 'Secret' && (data !== undefined || stringData !== undefined)),
    ).toEqual([]);
  });

  it('every value of the ConfigMap is a text', () => {
    expect(
      Object.values(one(all, 'ConfigMap', 'bursar')['data'] as object).every((value) => typeof value === 'string'),
    ).toBe(true);
  });
});

describe('the processes', () => {
  const all = chart.manifests(ALL);
  const container = (kind: string, name: string): Container => {
    const [first] = pods(one(all, kind, name)).template.spec.containers;
    if (first === undefined) throw new Error(`${name} has no container`);
    return first;
  };
  const [api, worker, migrate] = [
    container('Deployment', 'bursar-api'),
    container('Deployment', 'bursar-worker'),
    container('Job', 'bursar-migrate'),
  ];

  it('are the roles of bursar serve, and bursar migrate before them', () => {
    expect([api.args, worker.args, migrate.args]).toEqual([
      ['serve', '--role', 'api'],
      ['serve', '--role', 'worker'],
      ['migrate'],
    ]);
    expect(one(all, 'Job', 'bursar-migrate').metadata.annotations).toMatchObject({
      'helm.sh/hook': 'pre-install,pre-upgrade',
    });
    expect(api).toMatchObject({
      livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
      readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
      startupProbe: {},
    });
  });

  it('get their own secrets and no others', () => {
    const secrets = ({ env, envFrom = [] }: Container): string[] =>
      [
        ...envFrom.flatMap(({ secretRef }) => secretRef?.name ?? []),
        ...env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef.name ?? []),
      ].sort();
    expect([secrets(api), secrets(worker), secrets(migrate)]).toEqual([
      ['bursar-database', 'bursar-oidc', 'bursar-redis'],
      ['bursar-aws', 'bursar-database', 'bursar-redis'],
      ['bursar-database'],
    ]);
  });

  it('start anew when a setting changes', () => {
    const sum = (settings: object): unknown =>
      (
        pods(one(chart.manifests({ ...LEAST, settings }), 'Deployment', 'bursar-worker')).template
          .metadata as unknown as { annotations: Record<string, string> }
      ).annotations['checksum/settings'];
    expect(sum({ BURSAR_TICK_SECONDS: 5 })).toMatch(/^[0-9a-f]{64}$/);
    expect(sum({ BURSAR_TICK_SECONDS: 5 })).not.toBe(sum({ BURSAR_TICK_SECONDS: 6 }));
  });
});

describe('in its cluster', () => {
  const all = chart.manifests(ALL);
  const manifests = (file: string): Manifest[] =>
    parseAllDocuments(readFileSync(path.join(ROOT, 'deploy/kubernetes', file), 'utf8')).map(
      (document) => document.toJS() as Manifest,
    );

  it.each(['read', 'act'])('it may %s what deploy/kubernetes grants, under the same names', (use) => {
    const [account, role, binding] = manifests(`rbac-${use}.yaml`);
    expect(one(all, 'ServiceAccount', account?.metadata.name ?? '')).toBeDefined();
    expect(one(all, 'ClusterRole', role?.metadata.name ?? '')['rules']).toEqual(role?.['rules']);
    const { roleRef, subjects } = one(all, 'ClusterRoleBinding', binding?.metadata.name ?? '') as unknown as {
      roleRef: object;
      subjects: readonly object[];
    };
    expect(roleRef).toEqual(binding?.['roleRef']);
    expect(subjects).toEqual([{ kind: 'ServiceAccount', name: account?.metadata.name, namespace: 'finops' }]);
  });

  it('only workers have an account, which reads; the one that acts is a token that they mount; and without leave to act there is none', () => {
    const [api, worker] = ['bursar-api', 'bursar-worker'].map(
      (name) => pods(one(all, 'Deployment', name)).template.spec,
    );
    expect(api).toMatchObject({ automountServiceAccountToken: false });
    expect(api?.serviceAccountName).toBeUndefined();
    expect(worker).toMatchObject({ automountServiceAccountToken: true, serviceAccountName: 'bursar-read' });
    expect(worker?.containers[0]?.env).toEqual(
      expect.arrayContaining([{ name: 'BURSAR_KUBERNETES_ACT_TOKEN_FILE', value: '/etc/bursar/act/token' }]),
    );
    expect(one(all, 'Secret', 'bursar-act-token')).toMatchObject({
      type: 'kubernetes.io/service-account-token',
      metadata: { annotations: { 'kubernetes.io/service-account.name': 'bursar-act' } },
    });
    const readOnly = chart.manifests({ ...LEAST, kubernetes: { read: true } });
    expect(names(readOnly).filter((name) => name.endsWith('-act') || name.endsWith('act-token'))).toEqual([]);
    expect(JSON.stringify(readOnly)).not.toContain('ACT_TOKEN');
  });

  it.each([
    ['Ignore', 'webhook-fail-open.yaml'],
    ['Fail', 'webhook-fail-closed.yaml'],
  ])('the webhook with %s is that of %s', (failurePolicy, file) => {
    type Webhook = {
      clientConfig: { service: { name: string; path: string }; caBundle: string };
      namespaceSelector: { matchExpressions: { values: string[] }[] };
    };
    const [expected] = (manifests(file)[0]?.['webhooks'] ?? []) as Webhook[];
    const given = chart.manifests({
      ...LEAST,
      admission: { enabled: true, failurePolicy, tlsSecret: 'tls', caBundle: 'Y2E=' },
    });
    const [webhook] = one(given, 'ValidatingWebhookConfiguration', 'bursar-admission')['webhooks'] as Webhook[];
    expect(webhook).toEqual({
      ...expected,
      clientConfig: {
        service: {
          namespace: 'finops',
          name: expected?.clientConfig.service.name,
          port: 443,
          path: '/admission/v1/reviews',
        },
        caBundle: 'Y2E=',
      },
      namespaceSelector: {
        matchExpressions: [
          {
            ...expected?.namespaceSelector.matchExpressions[0],
            values: ['kube-system', 'kube-public', 'kube-node-lease', 'finops'],
          },
        ],
      },
    });
    expect(names(given)).toContain('Service bursar-admission');
    expect(names(given).filter((name) => /^(Certificate|Issuer) /.test(name))).toEqual([]);
  });

  it("cert-manager makes the certificate of the service's name, and hands its authority to the webhook", () => {
    const certificate = one(all, 'Certificate', 'bursar-admission');
    expect(certificate['spec']).toEqual({
      secretName: 'bursar-admission-tls',
      dnsNames: ['bursar-admission.finops.svc', 'bursar-admission.finops.svc.cluster.local'],
      issuerRef: { name: 'bursar-admission', kind: 'Issuer' },
    });
    expect(one(all, 'Issuer', 'bursar-admission')['spec']).toEqual({ selfSigned: {} });
    const webhook = one(all, 'ValidatingWebhookConfiguration', 'bursar-admission');
    expect(webhook.metadata.annotations).toEqual({ 'cert-manager.io/inject-ca-from': 'finops/bursar-admission' });
    expect(
      (webhook['webhooks'] as [{ clientConfig: { service: { path: string }; caBundle?: string } }])[0].clientConfig,
    ).toMatchObject({ service: { path: `/admission/v1/reviews/${KEY}` } });
    expect(JSON.stringify(webhook)).not.toContain('caBundle');
    const own = chart.manifests({
      ...ALL,
      admission: {
        ...ALL.admission,
        certManager: { enabled: true, issuerRef: { name: 'ours', kind: 'ClusterIssuer' } },
      },
    });
    expect(one(own, 'Certificate', 'bursar-admission')['spec']).toMatchObject({
      issuerRef: { name: 'ours', kind: 'ClusterIssuer' },
    });
    expect(names(own)).not.toContain('Issuer bursar-admission');
  });
});

describe('what watches it', () => {
  const all = chart.manifests(ALL);

  it('has the alert rules of deploy/prometheus, to the letter', () => {
    const rules = readFileSync(path.join(ROOT, 'deploy/prometheus/bursar-rules.yml'), 'utf8');
    expect(readFileSync(path.join(chart.folder, 'files/bursar-rules.yml'), 'utf8')).toBe(rules);
    expect(one(all, 'PrometheusRule', 'bursar')['spec']).toEqual(parse(rules));
  });

  it('scrapes the API by the job name that the rules know, with a key from a Secret', () => {
    expect(one(all, 'ServiceMonitor', 'bursar')).toMatchObject({
      metadata: { labels: { release: 'prometheus' } },
      spec: {
        jobLabel: 'app.kubernetes.io/name',
        endpoints: [
          {
            port: 'http',
            path: '/metrics',
            interval: '30s',
            authorization: { credentials: { name: 'bursar-metrics', key: 'key' } },
          },
        ],
      },
    });
  });

  it('probes workers, and scrapes them by the same job name, on the port that they are told and that the network lets through', () => {
    const [worker] = pods(one(all, 'Deployment', 'bursar-worker')).template.spec.containers as unknown as [
      {
        ports: { name: string; containerPort: number }[];
        env: { name: string; value?: string }[];
        livenessProbe: object;
        readinessProbe: object;
        startupProbe: object;
      },
    ];
    const [port] = worker.ports;
    expect(worker.env.find(({ name }) => name === 'BURSAR_HEALTH_PORT')?.value).toBe(String(port?.containerPort));
    for (const [probe, asked] of [
      [worker.startupProbe, '/healthz'],
      [worker.livenessProbe, '/healthz'],
      [worker.readinessProbe, '/readyz'],
    ])
      expect(probe).toMatchObject({ httpGet: { path: asked, port: port?.name } });
    expect(one(all, 'PodMonitor', 'bursar-worker')['spec']).toMatchObject({
      jobLabel: 'app.kubernetes.io/name',
      selector: { matchLabels: { 'app.kubernetes.io/component': 'worker' } },
      podMetricsEndpoints: [{ port: port?.name, path: '/metrics' }],
    });
    expect(one(all, 'NetworkPolicy', 'bursar-worker')['spec']).toMatchObject({
      ingress: [{ ports: [{ port: port?.name }], from: [{ namespaceSelector: {} }] }],
    });
    expect(one(all, 'NetworkPolicy', 'bursar-migration')['spec']).toMatchObject({
      podSelector: { matchLabels: { 'app.kubernetes.io/component': 'migration' } },
      ingress: [],
    });
  });

  it('says how to find the first key, and asks doctor', () => {
    const notes = chart.text('NOTES.txt', ALL);
    expect(notes).toContain('https://bursar.example.com');
    expect(notes).toContain('exec deploy/bursar-worker -- node dist/src/main.js doctor');
    expect(notes).not.toContain('{{');
  });
});
