/**
 * Every setting, read from the environment once, by one schema. An error names the variables, never their values.
 */
import { z } from 'zod';
import { invalid } from './core/errors.js';
import { remoteOf, withFiles, wrongSettings, type Environment } from './environment.js';
import { CUSTOM_ROLE, isRole } from './core/scopes.js';
import { HOUR_MS } from './core/time.js';

const url = (protocols: RegExp, what: string) => z.url({ protocol: protocols, error: `is not ${what}` });

type Roles = Readonly<Record<string, readonly string[]>>;

/** Roles with the groups that have them, of `admin=finops;viewer=*`. */
function rolesOf(text: string, context: z.RefinementCtx): Roles {
  const roles: Record<string, readonly string[]> = {};
  for (const part of text.split(';').filter((one) => one.trim() !== '')) {
    const [name = '', ...groups] = part.split('=');
    const role = name.trim();
    const list = groups
      .join('=')
      .split(',')
      .map((group) => group.trim())
      .filter((group) => group !== '');
    if ((!isRole(role) && !CUSTOM_ROLE.test(role)) || list.length === 0)
      context.addIssue('is not written admin=group,group;operator=group;viewer=*');
    else roles[role] = list;
  }
  return roles;
}

const schema = z.object({
  DATABASE_URL: url(/^postgres(ql)?$/, 'a postgres:// URL')
    .optional()
    .meta({
      description:
        'PostgreSQL 15 or later (through a pooler: in session mode); absent: an embedded server in BURSAR_DATA_DIR',
      secret: true,
    }),
  DATABASE_READ_URL: url(/^postgres(ql)?$/, 'a postgres:// URL')
    .optional()
    .meta({
      description:
        'A streaming read replica of DATABASE_URL, for questions about costs and for backtests; if it lags behind, the answer says its time',
      secret: true,
    }),
  BURSAR_DATABASE_CONNECTIONS: z.coerce
    .number({ error: 'is not a number' })
    .int()
    .min(1)
    .max(1000)
    .default(10)
    .describe(
      'Most connections to the database per process, not counting the one for notifications, the one for its heartbeat, and those of the queue',
    ),
  BURSAR_DATABASE_STATEMENT_SECONDS: z.coerce
    .number({ error: 'is not a number' })
    .min(5)
    .max(3600)
    .default(120)
    .describe('Timeout of a statement in seconds; a server that is silent for this long is considered gone'),
  REDIS_URL: url(/^rediss?$/, 'a redis:// URL')
    .optional()
    .meta({
      description: "Redis (or a cluster's first node) for the queue; absent: the queue is in PostgreSQL",
      secret: true,
    }),
  PORT: z.coerce
    .number({ error: 'is not a number' })
    .int()
    .min(0)
    .max(65535)
    .default(8080)
    .describe('Port of the API and the dashboard; 0 takes a free one'),
  HOST: z.string().min(1).default('127.0.0.1').describe('Address that the API listens on; 0.0.0.0 means all addresses'),
  BURSAR_HEALTH_PORT: z.coerce
    .number({ error: 'is not a number' })
    .int()
    .min(0)
    .max(65535)
    .optional()
    .describe(
      'Port on HOST on which a process with the role worker answers /healthz, /readyz and /metrics; absent: it does not listen. The container image sets 8081. The other roles answer them on PORT',
    ),
  BURSAR_DATA_DIR: z.string().min(1).default('.bursar').describe('Folder of the embedded database'),
  BURSAR_EXAMPLE: z
    .enum(['on', 'off'], { error: 'is neither on nor off' })
    .default('on')
    .describe('`off`: serve does not load the bundled example into an empty embedded database'),
  BURSAR_FIRST_KEY: z
    .enum(['print', 'off'], { error: 'is neither print nor off' })
    .default('print')
    .describe(
      '`off`: serve creates and prints no first key (the container image sets this, because logs are kept); use `bursar keys create`',
    ),
  BURSAR_URL: url(/^https?$/, 'an http:// or https:// URL')
    .optional()
    .describe('The command line goes through this API instead of the database; needs BURSAR_API_KEY'),
  BURSAR_API_KEY: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'Key that the command line sends to BURSAR_URL', secret: true }),
  BURSAR_TICK_SECONDS: z.coerce
    .number({ error: 'is not a number' })
    .min(0.1)
    .max(3600)
    .default(5)
    .describe('Seconds between two checks for due work'),
  BURSAR_CONCURRENCY: z.coerce
    .number({ error: 'is not a number' })
    .int()
    .min(1)
    .max(64)
    .default(2)
    .describe('Jobs that one worker process runs at a time'),
  BURSAR_REQUESTS_PER_KEY: z.coerce
    .number({ error: 'is not a number' })
    .min(1)
    .max(1_000_000)
    .default(500)
    .describe(
      'Requests per second that one process accepts from one key or user, averaged over ten seconds; more are answered with 429',
    ),
  BURSAR_REQUESTS_PER_ADDRESS: z.coerce
    .number({ error: 'is not a number' })
    .min(1)
    .max(1_000_000)
    .default(100)
    .describe('The same for an address that sends no key; /healthz and /readyz are not counted'),
  BURSAR_WRONG_KEYS_PER_MINUTE: z.coerce
    .number({ error: 'is not a number' })
    .min(1)
    .max(1_000_000)
    .default(30)
    .describe('Invalid keys accepted from one address; after that it gets 429, and its keys are no longer looked up'),
  BURSAR_BODIES_AT_ONCE: z.coerce
    .number({ error: 'is not a number' })
    .int()
    .min(1)
    .max(100_000)
    .default(256)
    .describe(
      'Request bodies that one key may send at once; without a key an eighth of that; all together four times that',
    ),
  BURSAR_SLOW_BODY_SECONDS: z.coerce
    .number({ error: 'is not a number' })
    .min(1)
    .max(600)
    .default(10)
    .describe(
      'Seconds in which a request body must average 1 KiB per second, or it is rejected (408); a body without a key must be complete by then',
    ),
  BURSAR_TRUSTED_PROXIES: z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((one) => one.trim())
        .filter((one) => one !== ''),
    )
    .pipe(z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], { error: 'is not a list of addresses' })))
    .optional()
    .describe(
      'Addresses or networks of proxies, separated by commas: the address of a request is then taken from their X-Forwarded-For',
    ),
  BURSAR_ARCHIVE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Where `bursar archive` writes raw records of old months: a folder, or `s3://bucket/prefix`; nothing is archived automatically',
    ),
  BURSAR_ARCHIVE_ENDPOINT: url(/^https?$/, 'an http:// or https:// URL')
    .optional()
    .describe('URL of an S3-compatible object store, without the bucket; absent: that of AWS in the region'),
  BURSAR_ARCHIVE_REGION: z
    .string()
    .regex(/^[\w-]+$/, 'is not a region')
    .default('us-east-1')
    .describe('Its region'),
  BURSAR_ARCHIVE_ACCESS_KEY_ID: z.string().min(1).optional().describe('A key that may put and get objects there'),
  BURSAR_ARCHIVE_SECRET_ACCESS_KEY: z.string().min(1).optional().meta({ description: 'Its secret', secret: true }),
  BURSAR_STANDBY_IS_SYNCHRONOUS: z
    .enum(['on', 'off'], { error: 'is neither on nor off' })
    .default('off')
    .describe(
      '`on`: a standby that takes over has lost nothing, so Bursar continues. Off: a server that took over is treated as restored from a backup, and the kill switch stays on until a person lifts it',
    ),
  BURSAR_STALL_SECONDS: z.coerce
    .number({ error: 'is not a number' })
    .min(3)
    .max(600)
    .default(10)
    .describe('Most seconds until other worker processes take over the work of one that has died'),
  BURSAR_COLLECT_FLEET_SECONDS: z.coerce
    .number({ error: 'is not a number' })
    .min(5)
    .max(3600)
    .default(60)
    .describe('Seconds between two readings of what runs at a provider'),
  BURSAR_COLLECT_USAGE_SECONDS: z.coerce
    .number({ error: 'is not a number' })
    .min(60)
    .max(86_400)
    .default(300)
    .describe("Seconds between two readings of a provider's metered usage"),
  BURSAR_COLLECT_PRICES_SECONDS: z.coerce
    .number({ error: 'is not a number' })
    .min(300)
    .max(604_800)
    .default(86_400)
    .describe("Seconds between two readings of a provider's prices"),
  BURSAR_ADMISSION_TLS_CERT: z
    .string()
    .min(1)
    .optional()
    .describe('Certificate, a PEM file: the admission webhook is then served over TLS, on its own port; needs the key'),
  BURSAR_ADMISSION_TLS_KEY: z.string().min(1).optional().describe('Its private key, a PEM file'),
  BURSAR_ADMISSION_PORT: z.coerce
    .number({ error: 'is not a number' })
    .int()
    .min(0)
    .max(65535)
    .default(8443)
    .describe('Port of the admission webhook over TLS'),
  BURSAR_PUBLIC_URL: url(/^https?$/, 'an http:// or https:// URL')
    .optional()
    .describe(
      'URL of the dashboard for people, for links and sign-in; absent: as in the request, and alerts have no link',
    ),
  BURSAR_OIDC_ISSUER: url(/^https?$/, 'an http:// or https:// URL')
    .optional()
    .describe(
      "OpenID Connect provider with which people sign in to the dashboard; needs the client's id and the roles",
    ),
  BURSAR_OIDC_CLIENT_ID: z.string().min(1).optional().describe("Bursar's client id at the provider"),
  BURSAR_OIDC_CLIENT_SECRET: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'Its secret; absent: a public client', secret: true }),
  BURSAR_OIDC_SCOPES: z
    .string()
    .regex(/(^| )openid( |$)/, 'does not hold openid')
    .default('openid profile email')
    .describe('Scopes that are requested'),
  BURSAR_OIDC_ROLES_CLAIM: z
    .string()
    .min(1)
    .default('groups')
    .describe('The claim that lists groups or roles; a path such as `realm_access.roles` reads nested objects'),
  BURSAR_OIDC_ROLES: z
    .string()
    .transform(rolesOf)
    .optional()
    .describe(
      '`admin=finops;operator=platform,sre;viewer=*`: the highest role with a matching group applies; * is everybody. Custom roles, `custom:buyer=procurement`, are added',
    ),
  BURSAR_OIDC_TEAMS_CLAIM: z
    .string()
    .min(1)
    .optional()
    .describe('The claim that lists teams, for people who are not admins; absent: all teams'),
  BURSAR_SCIM: z
    .enum(['off', 'users', 'groups'], { error: 'is none of off, users and groups' })
    .default('off')
    .describe(
      'Who must be known by SCIM to sign in through the identity provider: nobody (`off`), everybody (`users`), or everybody, with groups from SCIM instead of the claim (`groups`). Inactive users are always refused',
    ),
  BURSAR_SCIM_CLAIM: z
    .string()
    .min(1)
    .default('sub')
    .describe('The claim that holds the externalId or userName of SCIM: `sub`, `oid`, `preferred_username`'),
  BURSAR_SESSION_HOURS: z.coerce
    .number({ error: 'is not a number' })
    .min(0.25)
    .max(168)
    .default(12)
    .describe('Hours after which a session of the dashboard ends, even if it is in use'),
  BURSAR_SESSION_IDLE_MINUTES: z.coerce
    .number({ error: 'is not a number' })
    .min(5)
    .max(10_080)
    .default(120)
    .describe('Minutes without a request after which it ends'),
  BURSAR_SESSION_CHECK_MINUTES: z.coerce
    .number({ error: 'is not a number' })
    .min(5)
    .max(1440)
    .default(60)
    .describe(
      "Minutes after which a person's groups are read again from the identity provider, by a refresh token (this usually needs offline_access in BURSAR_OIDC_SCOPES); without one, they sign in again",
    ),
  BURSAR_AUDIT_URL: url(/^https?$/, 'an http:// or https:// URL')
    .optional()
    .meta({
      description: 'A collector to which new entries of the audit are posted, as newline-delimited JSON; absent: none',
      secret: true,
    }),
  BURSAR_AUDIT_TOKEN: z
    .string()
    .min(1)
    .optional()
    .meta({
      description: 'Credential for the collector: a bearer token, or a whole Authorization header (`Splunk ...`)',
      secret: true,
    }),
  BURSAR_AUDIT_YEARS: z.coerce
    .number({ error: 'is not a number' })
    .int('is not a whole number')
    .min(1)
    .max(100)
    .optional()
    .describe(
      'Years that entries of the audit are kept, in whole months, and at least until the collector, if there is one, has them; absent: forever',
    ),
  BURSAR_LOG_LEVEL: z
    .enum(['error', 'warn', 'log', 'debug'], { error: 'is not one of error, warn, log, debug' })
    .default('log')
    .describe('The least severe level that is logged: `error`, `warn`, `log` or `debug`'),
  BURSAR_LOG_FORMAT: z
    .enum(['text', 'json'], { error: 'is neither text nor json' })
    .default('text')
    .describe('`json`: one line of JSON per event on standard error'),
});

/** Names of all settings but the parts' own. */
export const SETTING_NAMES: readonly string[] = Object.keys(schema.shape);

/** One setting, for whoever lists them. */
export interface Setting {
  readonly name: string;
  readonly description: string;
  /** What holds where it is absent, as it would be written; null: nothing does. */
  readonly default: string | null;
  /** Never logged, never shown. */
  readonly secret: boolean;
}

/** All settings but the parts' own, as the schema has them. */
export const SETTINGS: readonly Setting[] = Object.entries(schema.shape).map(([name, field]) => {
  const { data } = field.safeParse(undefined);
  const { description = '', secret } = field.meta() ?? {};
  return { name, description, default: data === undefined ? null : String(data), secret: secret === true };
});

export interface Config {
  readonly databaseUrl: string | null;
  /** A read replica of it. */
  readonly readUrl: string | null;
  readonly redisUrl: string | null;
  readonly port: number;
  readonly host: string;
  /** Of a worker's probes and metrics; null: it has none. */
  readonly healthPort: number | null;
  readonly dataDir: string;
  readonly example: boolean;
  readonly firstKey: boolean;
  readonly remote: { readonly url: string; readonly apiKey: string } | null;
  readonly admissionTls: {
    readonly host: string;
    readonly port: number;
    readonly certFile: string;
    readonly keyFile: string;
  } | null;
  readonly signIn: {
    readonly publicUrl: string | null;
    readonly oidc: {
      readonly issuer: string;
      readonly clientId: string;
      readonly clientSecret: string | null;
      readonly scopes: string;
      readonly rolesClaim: string;
      readonly roles: Roles;
      readonly teamsClaim: string | null;
      readonly directory: 'off' | 'users' | 'groups';
      readonly directoryClaim: string;
    } | null;
    /** How long sessions last, and when a provider is asked again. */
    readonly sessions: { readonly lifeMs: number; readonly idleMs: number; readonly checkMs: number };
  };
  /** What one caller may ask of a process. */
  readonly gate: {
    readonly requestsPerKey: number;
    readonly requestsPerAddress: number;
    readonly wrongKeysPerMinute: number;
    readonly bodiesAtOnce: number;
    readonly slowBodySeconds: number;
  };
  /** Whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** Of one process, at most; and the seconds that a statement may take. */
  readonly databaseConnections: number;
  readonly statementSeconds: number;
  /** Where raw records of old months go; null: nowhere. */
  readonly archive: {
    readonly place: string;
    readonly endpoint: string | null;
    readonly region: string;
    readonly accessKeyId: string | null;
    readonly secretAccessKey: string | null;
  } | null;
  /** Whether a standby that takes over has lost nothing. */
  readonly standbyIsWhole: boolean;
  readonly tickSeconds: number;
  /** Null: the audit is kept for ever. */
  readonly auditYears: number | null;
  /** Until others take up the work of a process that has died. */
  readonly stallSeconds: number;
  readonly concurrency: number;
  readonly collectSeconds: { readonly fleet: number; readonly usage: number; readonly prices: number };
  /** What the providers read their settings from. Holds secrets: it is never shown. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logLevel: 'error' | 'warn' | 'log' | 'debug';
  readonly logFormat: 'text' | 'json';
}

/** @throws Failure invalid naming every variable that is wrong. */
export function parseConfig(process: Environment): Config {
  const environment = withFiles(process);
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
    throw wrongSettings(problems);
  }
  const { DATABASE_URL, REDIS_URL, BURSAR_URL, BURSAR_API_KEY } = parsed.data;
  if (BURSAR_URL !== undefined && BURSAR_API_KEY === undefined) {
    throw invalid('the configuration is wrong: BURSAR_URL needs BURSAR_API_KEY', [
      { path: 'BURSAR_API_KEY', message: 'is missing' },
    ]);
  }
  return {
    admissionTls: admissionTlsOf(parsed.data),
    signIn: signInOf(parsed.data),
    databaseUrl: DATABASE_URL ?? null,
    readUrl: parsed.data.DATABASE_READ_URL ?? null,
    redisUrl: REDIS_URL ?? null,
    port: parsed.data.PORT,
    host: parsed.data.HOST,
    healthPort: parsed.data.BURSAR_HEALTH_PORT ?? null,
    dataDir: parsed.data.BURSAR_DATA_DIR,
    example: parsed.data.BURSAR_EXAMPLE === 'on',
    firstKey: parsed.data.BURSAR_FIRST_KEY === 'print',
    remote: remoteOf(environment),
    gate: {
      requestsPerKey: parsed.data.BURSAR_REQUESTS_PER_KEY,
      requestsPerAddress: parsed.data.BURSAR_REQUESTS_PER_ADDRESS,
      wrongKeysPerMinute: parsed.data.BURSAR_WRONG_KEYS_PER_MINUTE,
      bodiesAtOnce: parsed.data.BURSAR_BODIES_AT_ONCE,
      slowBodySeconds: parsed.data.BURSAR_SLOW_BODY_SECONDS,
    },
    trustedProxies: parsed.data.BURSAR_TRUSTED_PROXIES ?? [],
    databaseConnections: parsed.data.BURSAR_DATABASE_CONNECTIONS,
    statementSeconds: parsed.data.BURSAR_DATABASE_STATEMENT_SECONDS,
    archive: archiveOf(parsed.data),
    standbyIsWhole: parsed.data.BURSAR_STANDBY_IS_SYNCHRONOUS === 'on',
    tickSeconds: parsed.data.BURSAR_TICK_SECONDS,
    auditYears: parsed.data.BURSAR_AUDIT_YEARS ?? null,
    stallSeconds: parsed.data.BURSAR_STALL_SECONDS,
    concurrency: parsed.data.BURSAR_CONCURRENCY,
    collectSeconds: {
      fleet: parsed.data.BURSAR_COLLECT_FLEET_SECONDS,
      usage: parsed.data.BURSAR_COLLECT_USAGE_SECONDS,
      prices: parsed.data.BURSAR_COLLECT_PRICES_SECONDS,
    },
    environment,
    logLevel: parsed.data.BURSAR_LOG_LEVEL,
    logFormat: parsed.data.BURSAR_LOG_FORMAT,
  };
}

const archiveOf = (data: z.infer<typeof schema>): Config['archive'] =>
  data.BURSAR_ARCHIVE === undefined
    ? null
    : {
        place: data.BURSAR_ARCHIVE,
        endpoint: data.BURSAR_ARCHIVE_ENDPOINT?.replace(/\/+$/, '') ?? null,
        region: data.BURSAR_ARCHIVE_REGION,
        accessKeyId: data.BURSAR_ARCHIVE_ACCESS_KEY_ID ?? null,
        secretAccessKey: data.BURSAR_ARCHIVE_SECRET_ACCESS_KEY ?? null,
      };

/** @throws Failure invalid where a certificate is named without its key, or a key without its certificate. */
function admissionTlsOf(data: z.infer<typeof schema>): Config['admissionTls'] {
  const {
    BURSAR_ADMISSION_TLS_CERT: certFile,
    BURSAR_ADMISSION_TLS_KEY: keyFile,
    HOST: host,
    BURSAR_ADMISSION_PORT: port,
  } = data;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const path = certFile === undefined ? 'BURSAR_ADMISSION_TLS_CERT' : 'BURSAR_ADMISSION_TLS_KEY';
    throw invalid(`the configuration is wrong: ${path} is missing`, [{ path, message: 'is missing' }]);
  }
  return certFile === undefined || keyFile === undefined ? null : { host, port, certFile, keyFile };
}

/** @throws Failure invalid where a provider is named without what it needs. */
function signInOf(data: z.infer<typeof schema>): Config['signIn'] {
  const {
    BURSAR_PUBLIC_URL: publicUrl = null,
    BURSAR_OIDC_ISSUER: issuer,
    BURSAR_OIDC_CLIENT_ID: clientId,
    BURSAR_OIDC_ROLES: roles,
  } = data;
  const sessions = {
    lifeMs: data.BURSAR_SESSION_HOURS * HOUR_MS,
    idleMs: data.BURSAR_SESSION_IDLE_MINUTES * 60_000,
    checkMs: data.BURSAR_SESSION_CHECK_MINUTES * 60_000,
  };
  if (issuer === undefined) return { publicUrl, oidc: null, sessions };
  if (clientId === undefined || roles === undefined) {
    const missing = [
      ...(clientId === undefined ? ['BURSAR_OIDC_CLIENT_ID'] : []),
      ...(roles === undefined ? ['BURSAR_OIDC_ROLES'] : []),
    ];
    throw invalid(
      `the configuration is wrong: BURSAR_OIDC_ISSUER needs ${missing.join(' and ')}`,
      missing.map((path) => ({ path, message: 'is missing' })),
    );
  }
  return {
    publicUrl,
    sessions,
    oidc: {
      issuer,
      clientId,
      clientSecret: data.BURSAR_OIDC_CLIENT_SECRET ?? null,
      scopes: data.BURSAR_OIDC_SCOPES,
      rolesClaim: data.BURSAR_OIDC_ROLES_CLAIM,
      roles,
      teamsClaim: data.BURSAR_OIDC_TEAMS_CLAIM ?? null,
      directory: data.BURSAR_SCIM,
      directoryClaim: data.BURSAR_SCIM_CLAIM,
    },
  };
}
