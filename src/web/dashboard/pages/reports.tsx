/**
 * The monthly reports: those that were made, in every format; making one now and waiting until it is there; and by whom
 * they are received, when its day has come.
 */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { lineageOf, routeFor, type AlertRoutes } from '../../../core/alert/routes.js';
import { REPORT_FORMATS } from '../../../core/report/reader.js';
import type { ReportTime } from '../../../core/report/schedule.js';
import type { Overview, ReportEntry, Team } from '../answers.js';
import { get, list, refusal, send } from '../api.js';
import { amountColumn, instantColumn, teamColumn } from '../columns.js';
import { code, month, within } from '../format.js';
import { joined, reader, say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { Rich } from '../rich.js';
import { go, link, place } from '../router.js';
import { Listing, type Column } from '../table.js';
import { TeamPick } from '../team-pick.js';
import { Act, Badge, Card, Instant, Page, Problems, Said, Select, Show, Unseen } from '../ui.js';

/** The picture alone is for messages. */
const OPENED = REPORT_FORMATS.filter((format) => format !== 'png');
/** Between two questions whether a report is there, and how many of them are asked. */
const PAUSE_MS = 1000;
const MOST_TRIES = 90;

const fileOf = (team: string, of: string, format: string): string =>
  `/v1/reports/${encodeURIComponent(team)}/${of}?format=${format}&lang=${reader.value.language}`;

/** The months that may be asked for: from this one, as `2026-11`, back to the first of which costs are recorded. */
async function monthsKnown(halt: AbortSignal): Promise<string[]> {
  const [{ month: last }, { rows }] = await Promise.all([
    get<Pick<Overview, 'month'>>('/v1/overview', {}, halt),
    get<{ readonly rows: readonly { readonly month: string }[] }>('/v1/costs', { 'group-by': 'month' }, halt),
  ]);
  const first = rows.reduce((least, { month: of }) => (of < least ? of : least), last);
  const months = [last];
  for (let of = last; of > first; months.push(of)) {
    const [year = 0, number = 1] = of.split('-').map(Number);
    of = new Date(Date.UTC(year, number - 2, 1)).toISOString().slice(0, 7);
  }
  return months;
}

/** When it was sent, or why it was sent to nobody. */
const sentText = ({ announcedAt, silence }: ReportEntry): string =>
  silence === null ? (announcedAt ?? '') : say('reports.silent', { why: within(code('silence', silence)) });

const Files = ({ of }: { readonly of: Pick<ReportEntry, 'team' | 'month'> }): JSX.Element => (
  <span class="links">
    {OPENED.map((format) => (
      <a key={format} href={fileOf(of.team, of.month, format)} target="_blank" rel="noopener">
        {format.toUpperCase()}
        <span class="hidden">
          {' '}
          {of.team} {of.month}
        </span>
      </a>
    ))}
  </span>
);

const columns = (): readonly Column<ReportEntry>[] => [
  { name: say('reports.month'), text: (one) => one.month, cell: (one) => month(one.month) },
  teamColumn(),
  amountColumn(say('column.spent'), ({ total }) => total),
  {
    name: say('column.state'),
    text: ({ isOver }) => say(isOver ? 'reports.whole' : 'reports.early'),
    cell: ({ isOver }) => (
      <Badge tone={isOver ? 'good' : 'warn'}>{say(isOver ? 'reports.whole' : 'reports.early')}</Badge>
    ),
  },
  instantColumn(say('column.made'), (one) => one.madeAt),
  {
    name: say('delivery.sent'),
    text: sentText,
    cell: (one) =>
      one.announcedAt === null ? (
        <span class="quiet">{say('reports.not-told')}</span>
      ) : one.silence === null ? (
        <Instant at={one.announcedAt} />
      ) : (
        <span class="quiet">{sentText(one)}</span>
      ),
  },
  { name: say('reports.open'), text: () => '', cell: (one) => <Files of={one} /> },
];

export function Reports(): JSX.Element {
  const { query } = place.value;
  const [team, of] = [query.get('team') ?? '', query.get('month') ?? ''];
  const pick = (change: Readonly<Record<string, string>>): void =>
    go(link('reports', null, { team, month: of, ...change }));
  const loaded = useLoaded(`reports ${team} ${of}`, (halt) =>
    list<ReportEntry>('/v1/reports', { team: team === '' ? null : team, month: of === '' ? null : of }, halt, 500),
  );
  const known = useLoaded('reports months', monthsKnown);
  const months = known.data ?? [];
  return (
    <Page title={say('page.reports')} lead={say('reports.lead')}>
      <div class="fields">
        <TeamPick value={team} onPick={(next) => pick({ team: next })} />
        <MonthPick months={months} value={of} none={say('all')} onPick={(next) => pick({ month: next })} />
      </div>
      <Show loaded={loaded}>
        {({ items, more }) => (
          <Listing
            items={items}
            note={more ? say('newest.500') : null}
            empty={say(team + of === '' ? 'reports.empty' : 'reports.none')}
            caption={say('page.reports')}
            file="reports"
            columns={columns()}
            keyOf={(one) => `${one.team} ${one.month}`}
          />
        )}
      </Show>
      <Make key={`${team} ${of}`} asked={{ team, month: of }} months={months} onMade={loaded.again} />
      <Recipients team={team} />
    </Page>
  );
}

function MonthPick({
  months,
  value,
  none,
  onPick,
}: {
  readonly months: readonly string[];
  readonly value: string;
  /** What choosing no month is called; absent: one is always chosen. */
  readonly none?: string;
  readonly onPick: (month: string) => void;
}): JSX.Element {
  const all = [...new Set([...months, ...(value === '' ? [] : [value])])].sort().reverse();
  return (
    <Select
      label={say('reports.month')}
      value={value}
      options={[...(none === undefined ? [] : [['', none] as const]), ...all.map((one) => [one, month(one)] as const)]}
      onPick={onPick}
    />
  );
}

/** When the report of a month was made; null: there is none. */
async function madeAt(team: string, of: string, halt?: AbortSignal): Promise<string | null> {
  const { items } = await list<ReportEntry>('/v1/reports', { team, month: of }, halt, 1);
  return items[0]?.madeAt ?? null;
}

interface Ordered {
  readonly team: string;
  readonly month: string;
  /** When the one was made that it replaces; null: there was none. */
  readonly before: string | null;
}

/** Of the team and the month that are chosen above; else of the month before this one. */
function Make({
  asked,
  months,
  onMade,
}: {
  readonly asked: { readonly team: string; readonly month: string };
  readonly months: readonly string[];
  readonly onMade: () => void;
}): JSX.Element {
  const [team, setTeam] = useState(asked.team);
  const [picked, setPicked] = useState(asked.month);
  const of = picked === '' ? (months[1] ?? months[0] ?? '') : picked;
  const [ordered, setOrdered] = useState<Ordered | null>(null);
  const task = useTask(async () => {
    const before = await madeAt(team, of);
    await send('POST', '/v1/reports', { team, month: of });
    setOrdered({ team, month: of, before });
  });
  const refused = refusal('configure') ?? (team === '' || of === '' ? say('reports.choose-team') : null);
  return (
    <Card title={say('reports.make')}>
      <div class="fields">
        <TeamPick value={team} none={say('reports.which')} onPick={setTeam} />
        <MonthPick months={months} value={of} onPick={setPicked} />
        <Act tone="primary" refused={refused} isBusy={task.isBusy} onAct={task.run}>
          {say('reports.do')}
        </Act>
      </div>
      <Problems trouble={task.trouble} />
      {ordered === null ? null : (
        <Waited key={`${ordered.team} ${ordered.month} ${ordered.before}`} ordered={ordered} onMade={onMade} />
      )}
    </Card>
  );
}

/** Looks until the report is there: the line makes it. */
function Waited({ ordered, onMade }: { readonly ordered: Ordered; readonly onMade: () => void }): JSX.Element {
  const { team, month: of, before } = ordered;
  const [state, setState] = useState<'waits' | 'there' | 'slow'>('waits');
  const [trouble, setTrouble] = useState<unknown>(null);
  useEffect(() => {
    const halt = new AbortController();
    let tries = 0;
    let next: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      const at = await madeAt(team, of, halt.signal);
      if (halt.signal.aborted) return;
      if (at !== null && at !== before) {
        setState('there');
        onMade();
      } else if (++tries < MOST_TRIES) next = setTimeout(watch, PAUSE_MS);
      else setState('slow');
    };
    const watch = (): void => void ask().catch((error: unknown) => halt.signal.aborted || setTrouble(error));
    watch();
    return () => {
      halt.abort();
      clearTimeout(next);
    };
  }, []);
  return (
    <>
      <Said>{say(`reports.${state}`, { team, month: month(of) })}</Said>
      <Problems trouble={trouble} />
      {state === 'there' ? <Files of={{ team, month: of }} /> : null}
    </>
  );
}

interface Receiving {
  readonly team: string;
  readonly to: readonly string[];
}

const receivingColumns = (): readonly Column<Receiving>[] => [
  teamColumn(),
  {
    name: say('reports.recipients'),
    text: ({ to }) => joined(to),
    cell: ({ to }) => (to.length === 0 ? <Badge tone="warn">{say('reports.nobody')}</Badge> : joined(to)),
  },
];

/** To whom the digest of a team goes: the routes of alerts say so, and no other place does. */
async function recipients(
  only: string,
  halt: AbortSignal,
): Promise<{ readonly isDefault: boolean; readonly rows: readonly Receiving[] }> {
  const [{ routes, isDefault }, { items }] = await Promise.all([
    get<AlertRoutes & { readonly isDefault: boolean }>('/v1/alert-routes', {}, halt),
    list<Team>('/v1/teams', {}, halt),
  ]);
  const parents = new Map(items.map(({ id, parent }) => [id, parent]));
  const rows = items
    .filter(({ id }) => only === '' || id === only)
    .map(({ id }) => {
      if (isDefault) return { team: id, to: [say('reports.every-channel')] };
      const route = routeFor({ routes }, { kind: 'digest', severity: 'info', team: id }, lineageOf(id, parents));
      return {
        team: id,
        to: (route?.to ?? []).map(({ channel, address }) => (address === null ? channel : `${channel} ${address}`)),
      };
    });
  return { isDefault, rows };
}

/** When reports are made, and where that is set. */
function Due(): JSX.Element {
  const loaded = useLoaded('report schedule', (halt) => get<ReportTime>('/v1/reports/schedule', {}, halt));
  return (
    <Show loaded={loaded}>
      {({ day, hour }) => (
        <p>
          {say('reports.schedule', { day, hour: `${String(hour).padStart(2, '0')}:00` })}{' '}
          <a href={link('settings', 'reports')}>{say('reports.reschedule')}</a>
        </p>
      )}
    </Show>
  );
}

function Recipients({ team }: { readonly team: string }): JSX.Element {
  // The routes concern all teams: who is restricted to some does not see them.
  const refused = refusal('read', true);
  const loaded = useLoaded(`recipients ${team} ${refused === null}`, async (halt) =>
    refused === null ? recipients(team, halt) : { isDefault: true, rows: [] },
  );
  return (
    <Card title={say('reports.sent')}>
      <Due />
      {refused === null ? (
        <Show loaded={loaded}>
          {({ isDefault, rows }) => (
            <>
              <p class="note">
                <Rich
                  of={isDefault ? 'reports.default-routes' : 'reports.routes'}
                  given={{ a: (inner) => <a href={link('settings', 'routes')}>{inner}</a> }}
                />
              </p>
              <Listing
                items={rows}
                note={null}
                empty={say('reports.no-teams')}
                caption={say('reports.sent')}
                file="report-recipients"
                columns={receivingColumns()}
                keyOf={({ team: one }) => one}
              />
            </>
          )}
        </Show>
      ) : (
        <Unseen why={refused} />
      )}
    </Card>
  );
}
