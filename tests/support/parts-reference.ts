/**
 * docs/reference/settings.md, formats.md and providers.md as text, made of what the parts and the configuration say of
 * themselves. It decides nothing.
 */
import { z } from 'zod';
import type { Setting } from '../../src/config.js';
import { EFFECT_KINDS } from '../../src/core/fleet/fleet.js';
import type { AbsentProvider, InstalledPart } from '../../src/core/installed.js';
import type { PriceFormat, Provider, ProviderAbilities, UsageFormat } from '../../src/core/ports.js';
import { code, madeOf, markdownTable } from './reference-page.js';

const TEST = 'tests/unit/docs/reference.test.ts';
const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);
const yes = (is: boolean): string => (is ? 'yes' : '');

const SETTINGS_HEAD = `# Settings

${madeOf("the configuration's schema and the settings that each part declares", TEST)}

Every setting is an environment variable. An empty one counts as absent. A wrong one stops the start, and the message names the variable, never its value. \`bursar doctor\` lists
which are set and names those that look like a setting and are none. A secret is never logged and never shown.
`;

const KIND_TITLES: Readonly<Record<InstalledPart['kind'], string>> = {
  provider:
    '## Clouds\n\nA cloud is connected as soon as one of its settings is there. *Reading* and *acting* are separate credentials: without the second a connection only looks.\n',
  telemetry: '## Sources of GPU evidence\n',
  channel: '## Ways to tell people\n',
};

/** @param tracing names of the variables that OpenTelemetry defines and Bursar obeys */
export function settingsReference(
  settings: readonly Setting[],
  parts: readonly Exclude<InstalledPart, AbsentProvider>[],
  tracing: readonly string[],
): string {
  const own = markdownTable(
    ['variable', 'what it is', 'default', 'secret'],
    settings.map((one) => [
      code(one.name),
      one.description,
      one.default === null ? '' : code(one.default),
      yes(one.secret),
    ]),
  );
  const ofKind = (kind: InstalledPart['kind']): string =>
    [KIND_TITLES[kind], ...parts.filter((one) => one.kind === kind).map(({ part }) => partSettings(part))].join('\n');
  return [
    SETTINGS_HEAD,
    `## Bursar itself\n\n${own}\n`,
    ofKind('provider'),
    ofKind('telemetry'),
    ofKind('channel'),
    `## Traces\n\nWhere the first or the second of these is there, traces go out by OTLP over HTTP. What each means is OpenTelemetry's word: "Environment Variable Specification" and
"OTLP Exporter Configuration" on opentelemetry.io.\n\n${tracing.map((name) => `- ${code(name)}`).join('\n')}\n`,
  ].join('\n');
}

function partSettings({ name, description, settings }: Exclude<InstalledPart, AbsentProvider>['part']): string {
  const head = `### ${name}\n\n${sentence(description)}\n`;
  if (settings.length === 0) return `${head}\nIt has no settings and is always there.\n`;
  const rows = settings.map((one) => [
    code(one.name),
    one.description,
    'use' in one ? { read: 'reading', act: 'acting' }[one.use] : '',
    yes(one.required),
    yes(one.secret),
  ]);
  const hasUse = settings.some((one) => 'use' in one && one.use === 'act');
  const titles = ['variable', 'what it is', 'for', 'needed', 'secret'];
  const shown = (row: readonly string[]): string[] => row.filter((_, at) => hasUse || at !== 2);
  return `${head}\n${markdownTable(shown(titles), rows.map(shown))}\n`;
}

const FORMATS_HEAD = `# Formats

${madeOf('what the formats say of themselves', TEST)}

\`bursar import FILE\` takes usage and bills, \`bursar prices FILE\` takes price lists. A format is recognised by the file's content; \`--format NAME\` names it instead. CSV, JSON and
JSON lines may be compressed with gzip, and a CSV with Chinese columns may be in GB18030 (GBK); other text is UTF-8. A row that cannot be read becomes a reject with its line, column and reason; the other rows count.
`;

/** @param record the schema of Bursar's own usage record */
export function formatsReference(formats: readonly (UsageFormat | PriceFormat)[], record: z.ZodType): string {
  const rows = (kind: 'usage' | 'price'): string =>
    markdownTable(
      ['format', 'what it reads'],
      formats.filter((one) => one.kind === kind).map((one) => [code(one.name), one.description]),
    );
  return [
    FORMATS_HEAD,
    `## Usage and bills\n\n${rows('usage')}\n`,
    `## Price lists\n\n${rows('price')}\n`,
    `## Bursar's own usage record\n\nThe fields of a record of the format \`bursar\`, of \`POST /v1/usage\`, and of the \`data\` of a CloudEvent (there the event's source and id are the identity).
At least one quantity is stated: \`gpus\`, \`gpuMilli\` or \`migProfile\`, storage or network. A field that is not in the table is an error.\n\n${recordTable(record)}\n`,
  ].join('\n');
}

interface Field {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly anyOf?: readonly Field[];
  readonly additionalProperties?: Field | boolean;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
}

interface ObjectSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, ObjectSchema>>;
  readonly properties?: Readonly<Record<string, Field>>;
  readonly required?: readonly string[];
}

function recordTable(record: z.ZodType): string {
  const whole = z.toJSONSchema(record, { io: 'input', unrepresentable: 'any' }) as ObjectSchema;
  // A schema with a name of its own is a reference to itself.
  const schema = whole.$ref === undefined ? whole : whole.$defs?.[whole.$ref.slice(whole.$ref.lastIndexOf('/') + 1)];
  const rows = Object.entries(schema?.properties ?? {}).map(([name, field]) => [
    code(name),
    typeOf(field),
    yes(schema?.required?.includes(name) === true),
    field.description ?? '',
  ]);
  return markdownTable(['field', 'values', 'needed', 'what it is'], rows);
}

function typeOf(field: Field): string {
  if (field.enum !== undefined) return field.enum.map((one) => code(String(one))).join(', ');
  if (field.anyOf !== undefined)
    return field.anyOf
      .filter(({ type }) => type !== 'null')
      .map(typeOf)
      .join(' or ');
  if (Array.isArray(field.type))
    return field.type
      .filter((type) => type !== 'null')
      .map((type) => typeOf({ ...field, type }))
      .join(' or ');
  if (field.format === 'date-time') return 'time, ISO 8601';
  if (field.type === 'object') return 'object of texts';
  const least =
    field.exclusiveMinimum !== undefined
      ? ` above ${field.exclusiveMinimum}`
      : field.minimum !== undefined && field.minimum > Number.MIN_SAFE_INTEGER
        ? ` from ${field.minimum}`
        : '';
  const most = field.maximum !== undefined && field.maximum < Number.MAX_SAFE_INTEGER ? ` to ${field.maximum}` : '';
  return `${field.type === 'string' ? 'text' : String(field.type ?? 'any')}${least}${most}`;
}

const PROVIDERS_HEAD = `# Clouds

${madeOf('what the providers declare', TEST)}

Each cloud below can do what has an entry, and needs for it the permissions that stand there, in that cloud's own words. Give those of *reading* to the credentials for reading and those of
*acting* to the credentials for acting; nothing else is asked for. \`bursar doctor\` shows which are granted, where the cloud can be asked. The variables are in
[settings](settings.md#clouds). A cloud without usage of its own is metered from its readings; so are the machines of AWS, whose own usage is of volumes and traffic alone.
`;

const READING: readonly (readonly [keyof ProviderAbilities, string])[] = [
  ['fleet', 'what runs'],
  ['usage', 'metered usage'],
  ['prices', 'prices'],
  ['bill', 'its bill'],
  ['spotHistory', 'spot: where it could be had, and its price'],
  ['offers', 'commitments on sale'],
];

const permissionsOf = (permissions: readonly string[]): string =>
  permissions.length === 0 ? 'none' : [...new Set(permissions)].map(code).join(', ');

export const providersReference = (providers: readonly Provider[]): string =>
  [PROVIDERS_HEAD, overview(providers), ...providers.map(providerSection)].join('\n');

function overview(providers: readonly Provider[]): string {
  const rows = providers.map(({ name, abilities }) => [
    `[${name}](#${name})`,
    ...READING.map(([ability]) => yes(abilities[ability] !== null)),
    EFFECT_KINDS.filter((kind) => abilities.effects[kind] !== undefined).join(', '),
  ]);
  return `${markdownTable(['cloud', ...READING.map(([ability]) => (ability === 'spotHistory' ? 'spot' : ability)), 'effects'], rows)}\n`;
}

/**
 * What the tests hold each cloud's requests and replies against: its real counterpart is another matter, and is said.
 */
const HELD: Readonly<Record<string, string>> = {
  alibaba:
    'Held against: requests by the official RPC client, signatures checked, replies written by hand after the API Reference; the settings of scaling groups and the addresses after the models of the official SDK (ess20220222) and the page of endpoints; the questions about health and system events and what is read of the answers, field by field, against those of ecs20140526 7.11.6; the question for the bill and what is read of it against those of bssopenapi20171214 4.1.1. Not held against an account.',
  aws: 'Held against: requests and replies by the official SDK, replies written by hand after the API references. By hand against moto 5.2 (0af643a5), behind a proxy that loses answers: reading instances, types, groups and their settings; stop, start and their rehearsals, with lost and throttled answers and the process killed in between; the policies of the page that connects AWS. Scaling groups (capacity, mixed policy there and back, a member replaced, protected members, suspended processes, their own policies), replacements from a launch template (also with a lost answer, without capacity, killed in between), volumes. A third time by a proxy that also takes from terminated instances what EC2 takes of them (address, names, network, groups, volumes, profile) and calls checks impaired; moto has no lack of capacity, no eventual consistency, no new cards after a stop and no refusal to stop a one-time spot instance. Prices, purchases, reserved instances, savings plans and the content of Cost Explorer were held against fakes alone. Not held against an account.',
  azure:
    "Held against: Microsoft's own SDK packages, which are made from the published OpenAPI documents (arm-compute 22.4.0, arm-network 33.5.0, arm-monitor 7.0.0, arm-authorization 9.0.0, arm-resourcegraph 4.2.1): every request, parameter, version, body and field that is read; the same holds for the server of the tests, which refuses what they do not have. Retail prices and the health table against the fields of their pages. Not held against an account.",
  fake: 'Held against: the contract that every cloud is held to.',
  gcp: "Held against: every request that can be sent and every field of a reply that is read, by Google's discovery documents (compute v1 of 2026-09-22, cloudbilling v1, cloudresourcemanager v3), and a server that keeps a small state, checks the signature and the scopes of each token and holds each request and reply against them. The words of the catalogue's SKUs are Google's SKU explorer's. Not held against an account.",
  kubernetes:
    "Held against: the official client before a small API server in memory, which keeps resource versions, merge patches, preconditions and disruption budgets. CoreWeave: the same server with nodes that have the labels of CoreWeave's pages, from the reading to the cost by a list of one's own, and an idle Deployment scaled to none and back. Not held against a cluster.",
  lambda:
    "Held against: every request that can be sent, and every field, type and word of a reply or a failure that is read, by Lambda's OpenAPI document (Lambda Cloud API 1.10.0), and a server that keeps a small state and holds each request and answer against it. Which codes a refusal has, how long an ending takes and what a 429 looks like are in no document. Not held against an account.",
  matpool: 'Held against: tables and requests as the settings describe them. Not held against an account.',
  nebius:
    "Held against: every call that can be made, and every field, number, type and word of a message that is sent or read, by Nebius' own protocol buffers (github.com/nebius/api of 2026-08-19), and a gRPC server that reads and writes by them through protobufjs, keeps a small state and checks the signed claims of each service account. What the calculator makes of a machine without disks, and how long an idempotency key holds, is in no document. Not held against an account.",
  runpod:
    "Held against: every request that can be sent, and every field, type and word of a reply or a failure that is read, by Runpod's OpenAPI document (REST API 2.0.0, as its documentation has it on 2026-08-20, then in beta), and a server that keeps a small state and holds each request and answer against it. Not held against an account.",
  tencent:
    'Held against: requests by the official client, signatures checked, replies written by hand after the API Reference; the settings of scaling groups after the types of the official SDK (4.1.313); the question about repair tasks and what is read of the answer, field by field, against those of 4.1.316. Not held against an account.',
  webhook: 'Held against: its own contract, as OpenAPI has it.',
};

/** By which word of its own a cloud says that a machine that it calls running is not well: beside silent exporters. */
const WELL: Readonly<Record<string, string>> = {
  alibaba:
    'the health Impaired, and the system events SystemFailure.Reboot, SystemFailure.Redeploy and SystemMaintenance.Redeploy that are at work, or from their time on. That a spot machine is reclaimed: its lock Recycling, before it is released; a release by a person and one by the cloud that was not seen locked look the same.',
  aws: 'the status checks of EC2 (system at once, instance after 15 minutes) and the scheduled events instance-retirement and instance-stop from their time on. What ended or stopped it: the state reason.',
  azure:
    'the availability Unavailable in the health table of Azure Resource Graph: at once where the annotation is platform-initiated and unplanned, after 15 minutes where nobody says why, never where a person or process asked for it. An eviction that deallocates: the annotation VirtualMachinePreempted of a spot machine. A machine that is not listed any more, by an eviction or by a person, is only known to be gone. A scale set brings no other machine for one that is ended, so a member is not replaced and there is no `replace`.',
  gcp: 'the status REPAIRING, and the operations compute.instances.hostError and compute.instances.preempted since its last start. Of a machine that is not listed any more these, or the operation delete of a person, for an hour, by the process that listed it before.',
  kubernetes: 'the condition Ready of a node.',
  lambda: 'the status unhealthy.',
  nebius: 'the state ERROR.',
  runpod: 'the status ERROR.',
  tencent:
    'the open repair tasks 102 (instance runs abnormally) and 104 (network is abnormal). That a spot machine is reclaimed shows only inside it; a machine that is not listed any more is only known to be gone. `replace` is for members of a group alone: the machine is terminated, not removed from the group, which would lower the desired capacity, so that the group misses it and brings another; that it does was not tried on an account.',
};

const wellOf = (name: string): string =>
  WELL[name] === undefined ? '' : `\n\nIts own word that a machine is not well: ${WELL[name]}`;

function providerSection({ name, description, abilities }: Provider): string {
  const reading = READING.flatMap(([ability, what]) => {
    const permissions = abilities[ability];
    return Array.isArray(permissions) ? [['reading', what, permissionsOf(permissions as readonly string[])]] : [];
  });
  const acting = EFFECT_KINDS.flatMap((kind) => {
    const permissions = abilities.effects[kind];
    return permissions === undefined ? [] : [['acting', code(kind), permissionsOf(permissions)]];
  });
  const held = HELD[name];
  if (held === undefined)
    throw new Error(`say in HELD (tests/support/parts-reference.ts) what the tests hold ${name} against`);
  return `## ${name}\n\n${sentence(description)}\n\n${held}${wellOf(name)}\n\n${markdownTable(['for', 'what', 'permissions'], [...reading, ...acting])}\n`;
}
