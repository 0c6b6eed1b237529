/**
 * Checks whether each cloud, each source of GPU evidence and each channel answers now, and which permissions each has.
 *
 * Only reads, and notifies nobody. A permission is `granted` or `refused` if the provider itself said so (or was seen
 * to allow it); otherwise it is `not-checked`, never assumed.
 */
import type { EffectKind } from '../../core/fleet/fleet.js';
import type { Clock } from '../../core/time.js';
import type { ProviderSetting } from '../../core/setting.js';
import { Failure } from '../../core/errors.js';
import type {
  AbsentProvider,
  InstalledChannel,
  InstalledPart,
  InstalledProvider,
  InstalledTelemetry,
} from '../../core/installed.js';
import type { ProviderAbilities, ProviderConnection, TelemetryReading } from '../../core/ports.js';
import { attend, ok, reasonOf, within, wrong, type Finding } from './finding.js';
import { titleOf, wrongSettings } from './settings.js';

/** The state of a permission: granted or refused by the cloud, or it cannot be checked without acting. */
export type Checked = 'granted' | 'refused' | 'not-checked';

/** One thing that a connection may do, and by which of the cloud's permissions. */
export interface Permission {
  readonly connection: string;
  readonly use: ProviderSetting['use'];
  readonly ability: string;
  readonly permissions: readonly string[];
  /** The state over all its permissions: one refused permission refuses it, and all must be granted. */
  readonly checked: Checked;
  readonly each: readonly { readonly permission: string; readonly checked: Checked }[];
}

export interface Examined {
  readonly findings: readonly Finding[];
  readonly permissions: readonly Permission[];
}

const READING = [
  'prices',
  'usage',
  'bill',
  'spotHistory',
  'offers',
  'fleet',
] as const satisfies readonly (keyof ProviderAbilities)[];
/** Exporters are scraped every minute or less, and written a little later. */
const EVIDENCE_MS = 5 * 60_000;

/** All parts at once, each with its own limit of time. */
export async function examineParts(parts: readonly InstalledPart[], clock: Clock, seconds: number): Promise<Examined> {
  const examined = await Promise.all(
    parts.map(async (one): Promise<Examined> => {
      if (one.problems.length > 0) return { findings: wrongSettings(one), permissions: [] };
      if (one.kind === 'provider') return provider(one, seconds);
      return {
        findings: one.kind === 'telemetry' ? await telemetry(one, clock, seconds) : await channel(one, seconds),
        permissions: [],
      };
    }),
  );
  return {
    findings: examined.flatMap(({ findings }) => findings),
    permissions: examined.flatMap(({ permissions }) => permissions),
  };
}

async function provider(one: InstalledProvider | AbsentProvider, seconds: number): Promise<Examined> {
  if (one.connection === null) return { findings: [], permissions: [] };
  const { part, connection } = one;
  const check = `provider ${connection.name}`;
  const read = await reading(check, part.abilities, connection, seconds);
  const permissions = await permissionsOf(part.abilities, connection, read.status === 'ok', seconds);
  const refused = permissions.filter(({ checked }) => checked === 'refused');
  return {
    findings: [
      read,
      acting(check, part.settings, connection, permissions),
      ...refused.map(({ use, ability, each }) => {
        const names = namesOf(each, 'refused');
        return attend(
          check,
          `${ability} is refused: ${names}`,
          use === 'read'
            ? `grant ${names} to the credentials for reading`
            : `grant ${names} to the credentials for acting, or let no policy ask for it`,
        );
      }),
    ],
    permissions,
  };
}

async function reading(
  check: string,
  abilities: ProviderAbilities,
  connection: ProviderConnection,
  seconds: number,
): Promise<Finding> {
  if (connection.fleet === undefined)
    return attend(
      check,
      'not checked: with its present settings it lists no machines',
      'set what listing needs, if Bursar should act there',
    );
  try {
    const { targets, complete, problems } = await within(seconds, connection.fleet());
    const detail = `read now: ${targets.length} target(s)`;
    return complete
      ? ok(check, detail)
      : attend(
          check,
          `${detail}, but not all of them: ${problems.join('; ')}`,
          'remove the cause: Bursar does not act on what it cannot read completely',
        );
  } catch (error) {
    const kind = error instanceof Failure ? error.kind : null;
    return wrong(
      check,
      reasonOf(error),
      kind === 'denied'
        ? `check its credentials for reading, and grant them ${abilities.fleet?.join(', ') ?? 'what it asks for'}`
        : kind === 'invalid'
          ? 'correct its settings'
          : "check the network and the provider's own status",
    );
  }
}

function acting(
  check: string,
  settings: readonly ProviderSetting[],
  { canAct }: ProviderConnection,
  permissions: readonly Permission[],
): Finding {
  const title = `${check}, acting`;
  if (!canAct)
    return ok(
      title,
      `read-only${settings.some(({ use }) => use === 'act') ? ': no credentials for acting are set' : ''}`,
    );
  const effects = permissions.filter(({ use }) => use === 'act');
  const unchecked = effects.filter(({ checked }) => checked === 'not-checked').map(({ ability }) => ability);
  const detail = `may be asked to ${effects.map(({ ability }) => ability).join(', ')}${unchecked.length === 0 ? '' : unchecked.length === effects.length ? '; not checked: only acting shows it' : `; not checked: ${unchecked.join(', ')}`}`;
  const unknown = namesOf(
    effects.flatMap(({ each }) => each),
    'not-checked',
  );
  return unknown === ''
    ? ok(title, detail)
    : {
        ...ok(title, detail),
        remedy: `the cloud does not say whether the credentials for acting have ${unknown}: check this in the cloud's console`,
      };
}

const namesOf = (each: Permission['each'], state: Checked): string =>
  [...new Set(each.filter(({ checked }) => checked === state).map(({ permission }) => permission))].join(', ');

const stateOf = (answer: boolean | null | undefined): Checked =>
  answer === true ? 'granted' : answer === false ? 'refused' : 'not-checked';

/** The effects that the other side says it carries out; null: it does not say, or not now. */
const ableTo = (connection: ProviderConnection, seconds: number): Promise<readonly EffectKind[] | null> =>
  within(seconds, connection.effects?.() ?? Promise.resolve(null)).catch(() => null);

async function permissionsOf(
  abilities: ProviderAbilities,
  connection: ProviderConnection,
  wasRead: boolean,
  seconds: number,
): Promise<Permission[]> {
  const asked = new Map<string, Promise<boolean | null>>();
  const ask = (permission: string, use: ProviderSetting['use']): Promise<boolean | null> => {
    const key = `${use} ${permission}`;
    const answer =
      asked.get(key) ??
      within(seconds, connection.granted?.(permission, use) ?? Promise.resolve(null)).catch(() => null);
    asked.set(key, answer);
    return answer;
  };
  const permission = async (
    use: ProviderSetting['use'],
    ability: string,
    names: readonly string[],
  ): Promise<Permission> => {
    const answers = await Promise.all(names.map((name) => ask(name, use)));
    const seen = ability === 'fleet' && wasRead;
    const checked = answers.includes(false)
      ? 'refused'
      : seen || (answers.length > 0 && answers.every((answer) => answer === true))
        ? 'granted'
        : 'not-checked';
    const each = names.map((name, at) => ({ permission: name, checked: stateOf(answers[at]) }));
    return { connection: connection.name, use, ability, permissions: names, checked, each };
  };
  const reads = READING.flatMap((ability) =>
    typeof connection[ability] === 'function' ? [permission('read', ability, abilities[ability] ?? [])] : [],
  );
  const able = connection.canAct ? await ableTo(connection, seconds) : [];
  const acts = Object.entries(abilities.effects)
    .filter(([kind]) => able === null || able.some((one) => one === kind))
    .map(([kind, names]) => permission('act', kind, names));
  return Promise.all([...reads, ...acts]);
}

async function telemetry(one: InstalledTelemetry, clock: Clock, seconds: number): Promise<Finding[]> {
  const { connection } = one;
  if (connection === null) return [];
  const check = titleOf(one);
  const latest = async (): Promise<TelemetryReading | null> => {
    let last: TelemetryReading | null = null;
    const now = clock.now();
    for await (const found of connection.read(now - EVIDENCE_MS, now))
      if (last === null || found.samples.length > 0) last = found;
    return last;
  };
  try {
    const last = await within(seconds, latest());
    const gpus = new Set(
      last?.samples.map(({ resource, gpu, migInstance }) => `${resource} ${gpu} ${migInstance ?? ''}`),
    ).size;
    const coverage = last?.coverage ?? null;
    const detail =
      gpus === 0
        ? 'it answers, and reported no GPU in the last five minutes'
        : `it answers: ${gpus} GPU(s)${coverage === null ? '' : `, ${Math.round(100 * coverage)} % of the exporters`}`;
    if (last !== null && last.problems.length > 0)
      return [
        attend(
          check,
          `${detail}; ${last.problems.join('; ')}`,
          'remove the cause: missing evidence never means idle, so Bursar stops nothing on it',
        ),
      ];
    return [
      gpus === 0
        ? attend(check, detail, 'check that the exporters run and that the source collects from them')
        : ok(check, detail),
    ];
  } catch (error) {
    return [wrong(check, reasonOf(error), 'check its address, its credentials and the network')];
  }
}

async function channel(one: InstalledChannel, seconds: number): Promise<Finding[]> {
  const { connection } = one;
  if (connection === null) return [];
  const check = titleOf(one);
  if (connection.check === undefined)
    return [ok(check, 'set up; not checked: a test would send a message to somebody')];
  try {
    return [ok(check, await within(seconds, connection.check()))];
  } catch (error) {
    return [wrong(check, reasonOf(error), 'check its settings, its permissions and the network')];
  }
}
