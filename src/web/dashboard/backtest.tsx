/**
 * A backtest from the button to its report: requested here, run by the line, followed by events, and shown as a table.
 */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Backtest, BacktestResult, Overview } from './answers.js';
import { get, refusal, send, Trouble } from './api.js';
import { moved } from './cost-question.js';
import { code, count, percent, unknown } from './format.js';
import { say } from './language.js';
import { useLoaded, useTask } from './loading.js';
import { Picture } from './picture.js';
import type { Series } from './picture-plot.js';
import { Table, type Column } from './table.js';
import { Act, Day, Form, isWhole, Problems, Show } from './ui.js';

const DAYS = 30;

interface Props {
  /** The document's name, or the document that is being written. */
  readonly document: string | Readonly<Record<string, unknown>>;
  /** On the history of this team; absent: of the document's teams. */
  readonly team?: string;
  /** The id of the form that the document is written in. */
  readonly form?: string;
  readonly onDone?: () => void;
}

/** Calendar days, the last one not included. */
interface Span {
  readonly from: string;
  readonly to: string;
}

export function BacktestButton({ document, team, form = '', onDone }: Props): JSX.Element {
  const [ordered, setOrdered] = useState<Backtest | null>(null);
  const [chosen, choose] = useState<Span | null>(null);
  const recorded = useLoaded('recorded', async (halt): Promise<Span> => {
    const { asOf } = await get<Overview>('/v1/overview', {}, halt);
    const to = moved(asOf, 0);
    return { from: moved(to, -DAYS), to };
  });
  const { isBusy, trouble, run } = useTask(async (policy: Props['document'], span: Span) => {
    setOrdered(null);
    const teams = team === undefined ? {} : { teams: [team] };
    setOrdered(await send<Backtest>('POST', '/v1/backtests', { policy, ...span, ...teams }));
  });
  return (
    <Show loaded={recorded}>
      {(whole) => {
        const span = chosen ?? whole;
        // One that is emptied is again what is recorded.
        const end = (of: keyof Span, label: string): JSX.Element => (
          <Day
            label={label}
            value={span[of]}
            max={whole.to}
            onPick={(day) => choose({ ...span, [of]: day === '' ? whole[of] : day })}
          />
        );
        return (
          <div class="backtest">
            <Form class="fields" onSend={() => isWhole(window.document.forms.namedItem(form)) && run(document, span)}>
              {end('from', say('from'))}
              {end('to', say('to'))}
              <Act refused={refusal('configure')} isBusy={isBusy}>
                {say('backtest')}
              </Act>
            </Form>
            <Problems trouble={trouble} />
            {ordered === null ? null : <Run key={ordered.id} ordered={ordered} onDone={onDone} />}
          </div>
        );
      }}
    </Show>
  );
}

const isOpen = ({ status }: Backtest): boolean => status === 'queued' || status === 'running';

function Run({
  ordered,
  onDone,
}: {
  readonly ordered: Backtest;
  readonly onDone: (() => void) | undefined;
}): JSX.Element {
  const [now, setNow] = useState<Pick<Backtest, 'status' | 'progress' | 'error'>>(ordered);
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    const source = new EventSource(`/v1/backtests/${ordered.id}/events`);
    const read = (event: Event): void =>
      setNow((old) => ({ ...old, ...(JSON.parse((event as MessageEvent<string>).data) as Partial<Backtest>) }));
    source.addEventListener('progress', read);
    source.addEventListener('done', (event) => {
      source.close();
      read(event);
      onDone?.();
    });
    source.addEventListener('error', () => source.readyState === EventSource.CLOSED && setBroken(true));
    return () => source.close();
  }, [ordered.id]);
  if (now.status === 'failed')
    return (
      <Problems trouble={new Trouble(now.error?.message ?? say('backtest.failed'), 0, now.error?.problems ?? [])} />
    );
  if (now.status === 'done') return <Report id={ordered.id} />;
  return (
    <div class="progress">
      <progress max={1} value={now.progress} aria-label={say('backtest.share')} />
      <p role="status" aria-live="polite">
        {broken
          ? say('backtest.lost')
          : isOpen({ ...ordered, ...now }) && now.status === 'queued'
            ? say('backtest.queued')
            : say('backtest.running', { share: percent(now.progress) })}
      </p>
    </div>
  );
}

type Measured = BacktestResult['cells'][number]['policies'][number];

function Report({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoaded(`backtest ${id}`, (halt) =>
    get<{ readonly result: BacktestResult | null }>(`/v1/backtests/${id}`, {}, halt),
  );
  return (
    <Show loaded={loaded}>
      {({ result }) =>
        result === null ? <Problems trouble={say('backtest.no-report')} /> : <Cells result={result} id={id} />
      }
    </Show>
  );
}

const shownNumber = (value: number | string | null | undefined): string =>
  typeof value === 'number' ? count(Math.round(value * 1e4) / 1e4) : (value ?? unknown());

function columnsOf(policies: readonly Measured[]): Column<Measured>[] {
  const names = [...new Set(policies.flatMap((one) => Object.keys(one)))].filter(
    (name) => name !== 'name' && name !== 'meanShare',
  );
  return [
    { name: say('backtest.way'), text: ({ name }) => name },
    ...names.map(
      (name): Column<Measured> => ({
        name: code('measure', name),
        text: (one) => String(one[name] ?? ''),
        cell: (one) => shownNumber(one[name]),
        number: (one) => (typeof one[name] === 'number' ? one[name] : null),
      }),
    ),
    {
      name: say('backtest.optimum'),
      text: ({ meanShare }) => String(meanShare ?? ''),
      cell: ({ meanShare }) => percent(meanShare),
      number: ({ meanShare }) => meanShare,
    },
  ];
}

function Cells({ result, id }: { readonly result: BacktestResult; readonly id: string }): JSX.Element {
  const currency = typeof result.settings['currency'] === 'string' ? result.settings['currency'] : 'USD';
  return (
    <>
      <p class="said" role="status">
        {say('backtest.done')}
      </p>
      {result.cells.map((cell) => (
        <div key={cell.name}>
          <Table
            caption={say('backtest.cases', { name: cell.name, n: cell.count })}
            file={`backtest-${id}-${cell.name}`}
            columns={columnsOf(cell.policies)}
            rows={cell.policies}
            keyOf={({ name }) => name}
            showsCaption
          />
          {cell.unknown === undefined ? null : (
            <div class="warning" role="note">
              <p>
                {say(cell.unknown.length === cell.count ? 'backtest.unknown' : 'backtest.unknown-part', {
                  n: cell.unknown.length,
                  all: cell.count,
                })}
              </p>
              <ul>
                {cell.unknown.map(({ name, why }) => (
                  <li key={name}>
                    {name}: {why}
                  </li>
                ))}
              </ul>
            </div>
          )}
          {cell.series === undefined ? null : (
            <Costs
              name={cell.name}
              series={cell.series}
              currency={currency}
              file={`backtest-${id}-${cell.name}-costs`}
            />
          )}
        </div>
      ))}
    </>
  );
}

/** Cost per day of each way. */
function Costs({
  name,
  series: { from, stepHours, costs },
  currency,
  file,
}: {
  readonly name: string;
  readonly series: NonNullable<BacktestResult['cells'][number]['series']>;
  readonly currency: string;
  readonly file: string;
}): JSX.Element {
  const perDay = Math.max(1, Math.round(24 / stepHours));
  const length = Math.ceil(Math.max(0, ...Object.values(costs).map((one) => one.length)) / perDay);
  const days = Array.from({ length }, (_, at) => moved(from, at));
  const series = Object.entries(costs).map(
    ([way, values]): Series => ({
      name: way,
      values: days.map((_, at) => {
        const of = values.slice(at * perDay, (at + 1) * perDay);
        return of.length === 0 ? null : of.reduce((sum, one) => sum + one, 0).toFixed(4);
      }),
    }),
  );
  return (
    <Picture
      title={say('backtest.daily', { name })}
      summary={say('backtest.summary', { n: series.length, days: days.length })}
      days={days}
      series={series}
      currency={currency}
      kind="lines"
      file={file}
    />
  );
}
