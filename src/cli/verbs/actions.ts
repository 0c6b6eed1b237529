/**
 * bursar actions, approve, reject, rollback, stop-all, limits: actions on recommendations, their approvers, and the
 * limits.
 */
import { Option, type Command } from 'commander';
import type { Action, ActionStory, BindingLimits, Stop } from '../answers.js';
import { STATES, type Decision } from '../client/actions.js';
import { isLeftToPeople } from '../../core/action/acting.js';
import { NO_CAPACITY, waitOf, type ActionState } from '../../core/action/action.js';
import { count } from '../flags.js';
import type { Session } from '../session.js';
import { readStructured } from '../structured-file.js';
import { printable, table, type Title } from '../table.js';
import { WrongUse } from '../usage-error.js';

export function register(program: Command, session: Session): void {
  addList(program, session);
  addDecisions(program, session);
  addStopAll(program, session);
  addLimits(program, session);
}

function addList(program: Command, session: Session): void {
  const actions = program
    .command('actions')
    .addHelpText('after', '\nExamples:\n  bursar actions --state proposed\n  bursar actions show act-0123456789abcdef');

  actions
    .command('list', { isDefault: true })
    .description('List the actions, newest first.')
    .option('--team <team>', 'only of this team')
    .addOption(new Option('--state <state>', 'only in this state').choices([...STATES]))
    .option('--limit <n>', 'at most this many', count, 1000)
    .action(async ({ team, state, limit }: { team?: string; state?: ActionState; limit: number }) => {
      const list = await (await session.client()).actions.list({ team: team ?? null, state: state ?? null }, limit);
      session.print({ actions: list }, () => table(TITLES, list.map(row), 'There are no actions.\n'));
    });

  actions
    .command('show')
    .description('Show one action: its timeline and its proof.')
    .argument('<id>', 'of the action')
    .addHelpText('after', '\nExample:\n  bursar actions show act-0123456789abcdef')
    .action(async (id: string) => {
      const action = await (await session.client()).actions.show(id);
      session.print({ action }, () => storyText(action));
    });
}

function addDecisions(program: Command, session: Session): void {
  program
    .command('approve')
    .argument('<id>', 'as recommend or actions lists it')
    .addHelpText(
      'after',
      `
Only bursar serve carries out actions. If it runs, this verb waits for the result. Otherwise the approval is kept, and
the action waits for the next bursar serve until it expires.

Examples:
  bursar approve rec-0123456789abcdef
  bursar approve act-0123456789abcdef`,
    )
    .action(async (id: string) => {
      const decision = await (await session.client()).actions.approve(id);
      printDecision(session, decision, 'approved');
    });

  program
    .command('reject')
    .argument('<id>', 'as recommend or actions lists it')
    .option('--reason <reason>', 'why (only for an action)', '')
    .addHelpText('after', '\nExample:\n  bursar reject act-0123456789abcdef --reason "needed until Friday"')
    .action(async (id: string, { reason }: { reason: string }) => {
      const decision = await (await session.client()).actions.reject(id, reason);
      printDecision(session, decision, 'rejected');
    });

  program
    .command('rollback')
    .argument('<id>', 'of the action')
    .option('--under-stop', 'also while the kill switch is on', false)
    .addHelpText(
      'after',
      '\nIt never overwrites what somebody has changed since. Like an approved action, it is carried out by bursar serve.\n\nExample:\n  bursar rollback act-0123456789abcdef',
    )
    .action(async (id: string, { underStop }: { underStop: boolean }) => {
      const action = await (await session.client()).actions.rollback(id, underStop);
      if (action.state === 'refused' || action.state === 'failed') session.reportFinding();
      session.print({ action }, () => storyText(action));
    });
}

const isUndone = ({ state }: Action): boolean => state === 'refused' || state === 'failed';

/** Whether something stands against it that the guard would refuse; what nothing carries out is a person's to do. */
const isObstructed = (recommendation: Decision['recommendation']): boolean =>
  (recommendation?.obstacles ?? []).some((one) => !isLeftToPeople(one));

function printDecision(session: Session, { recommendation, action }: Decision, status: 'approved' | 'rejected'): void {
  if (status === 'approved' && (action === null ? isObstructed(recommendation) : isUndone(action)))
    session.reportFinding();
  session.print({ recommendation, action }, () =>
    [
      ...(recommendation === null
        ? []
        : [`${recommendation.id} is ${status}: ${recommendation.action} ${recommendation.target}`]),
      ...(action === null
        ? (recommendation?.obstacles ?? []).map(({ message }) => `  ${message}`)
        : [
            `${action.id} is ${action.state}: ${action.effect.kind} ${action.target}`,
            ...action.reasons.map(({ message }) => `  ${message}`),
          ]),
      '',
    ]
      .map(printable)
      .join('\n'),
  );
  if (status === 'approved' && action === null && recommendation !== null)
    session.note(
      `Bursar cannot carry it out: ${printable(recommendation.obstacle?.message ?? 'no connection knows it')}. The approval is recorded; please do the rest yourself.`,
    );
}

function addStopAll(program: Command, session: Session): void {
  program
    .command('stop-all')
    .option('--team <team>', 'only this team and those below it')
    .option('--provider <provider>', 'only this provider, or one connection to it')
    .option('--reason <reason>', 'why, for the others', '')
    .option('--lift', 'let actions go on', false)
    .option('--show', 'only show what is off', false)
    .addHelpText(
      'after',
      '\nWhile it is on, rolling an action back needs --under-stop.\n\nExamples:\n  bursar stop-all --reason "prices look wrong"\n  bursar stop-all --team research\n  bursar stop-all --lift',
    )
    .action(
      async ({
        team,
        provider,
        reason,
        lift,
        show,
      }: {
        team?: string;
        provider?: string;
        reason: string;
        lift: boolean;
        show: boolean;
      }) => {
        if (team !== undefined && provider !== undefined) throw new WrongUse('--team or --provider, not both');
        if (lift && show) throw new WrongUse('--lift or --show, not both');
        const { actions } = await session.client();
        const stops = show
          ? await actions.stops()
          : lift
            ? await actions.lift({ team, provider })
            : await actions.stop({ team, provider }, reason);
        session.print({ stops }, () => stopsText(stops));
      },
    );
}

function addLimits(program: Command, session: Session): void {
  const limits = program.command('limits').addHelpText(
    'after',
    `
Both documents apply: of two limits the stricter one wins. An absent limit has its default; 0 allows none:
  gpusPerAction: 16
  gpusPerHour: 64
  minTeamGpus: 8
  cooldownMinutes: 30
  protectedLabels: { "bursar.io/protected": "true" }
  quietHours: [{ zone: Europe/Berlin, from: "08:00", to: "18:00", days: [mon, tue, wed, thu, fri] }]
  separateApprover: true

Examples:
  bursar limits
  bursar limits set limits.yaml --team research`,
  );

  limits
    .command('show', { isDefault: true })
    .description('Show the limits that apply.')
    .option('--team <team>', 'for this team')
    .action(async ({ team }: { team?: string }) => {
      const view = await (await session.client()).actions.limits(team ?? null);
      session.print(view, () => limitsText(view));
    });

  limits
    .command('set')
    .description('Set the limits of the organisation, or of a team, from a file.')
    .argument('<file>', 'YAML or JSON')
    .option('--team <team>', 'of this team')
    .addHelpText('after', '\nExample:\n  bursar limits set limits.yaml')
    .action(async (file: string, { team }: { team?: string }) => {
      const document = await readStructured(file, session.context.parseYaml);
      const view = await (await session.client()).actions.saveLimits(team ?? null, document);
      session.print(view, () => limitsText(view));
    });
}

const TITLES: readonly Title[] = [
  'id',
  { title: 'team', below: true },
  'effect',
  'target',
  { title: 'at', below: true },
  'state',
  { title: 'approved by', below: true },
  { title: 'proposed at', below: true },
  { title: 'why', below: true },
];

const row = (one: Action): (string | null)[] => [
  one.id,
  one.team,
  one.effect.kind,
  one.target,
  one.connection,
  stateText(one),
  one.approvedBy,
  one.proposedAt,
  one.reasons.map(({ message }) => message).join('; '),
];

const WAITS: Readonly<Record<string, string>> = { [NO_CAPACITY]: 'waits for capacity' };

/** With what it waits for, where that is known. */
function stateText(one: Action): string {
  const wait = WAITS[waitOf(one) ?? ''];
  return wait === undefined ? one.state : `${one.state}, ${wait}`;
}

/** What was read of the target afterwards; a purchase has none, and is proven by what its provider says of it. */
function proofText({ after, afterAt, effect, reasons }: ActionStory): string {
  if (afterAt === null) return '';
  const replicas =
    after?.replicas === null || after?.replicas === undefined ? '' : `, ${after.replicas.desired} replicas`;
  const seen =
    after !== null
      ? [`${after.state}${replicas}, billing ${after.billing}`]
      : effect.kind === 'purchase'
        ? []
        : ['it no longer exists'];
  const told = [...seen, ...reasons.map(({ message }) => message)].filter((text) => text !== '');
  const all = told.length > 0 ? told.join('; ') : 'its provider says that it was done';
  return `${printable(`Proof, read at ${afterAt}: ${all}`)}\n`;
}

function storyText(action: ActionStory): string {
  const { next, follows } = action;
  const pair = [
    ...(next === null ? [] : [`Then, not before ${next.notBefore}: ${next.effect.kind} ${next.effect.target}`]),
    ...(follows === null ? [] : [`Follows ${follows}`]),
  ];
  return [
    table(TITLES, [row(action)]),
    table(
      ['at', 'what', 'state', 'by', 'detail'],
      action.events.map(({ at, code, to, actor, detail }) => [
        at,
        code,
        to,
        actor,
        Object.keys(detail).length === 0 ? null : JSON.stringify(detail),
      ]),
    ),
    ...pair.map((line) => `${printable(line)}\n`),
    proofText(action),
  ].join('\n');
}

const stopsText = (stops: readonly Stop[]): string =>
  table(
    ['stopped', 'since', 'by', 'why'],
    stops.map(({ scope, name, setAt, setBy, reason }) => [
      scope === 'all' ? 'everything' : `${scope} ${name}`,
      setAt,
      setBy,
      reason,
    ]),
    'Nothing is stopped.\n',
  );

const limitsText = ({ limits }: BindingLimits): string =>
  table(
    ['limit', 'holds'],
    Object.entries(limits).map(([name, value]) => [
      name,
      typeof value === 'object' ? JSON.stringify(value) : String(value),
    ]),
  );
