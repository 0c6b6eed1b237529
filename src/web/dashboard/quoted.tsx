/** A run's quote: its cost and the reasons, whether the budgets allow it, and reserving budget for it. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Verdict } from '../../core/quote/budget.js';
import type { Term } from '../../core/usage.js';
import type { BudgetVerdict, Quote, Reservation } from './answers.js';
import { send } from './api.js';
import { amountColumn } from './columns.js';
import { code, instant, money, price } from './format.js';
import { say } from './language.js';
import { useTask } from './loading.js';
import { link } from './routes.js';
import { Table, type Column } from './table.js';
import { Act, Amount, AsWritten, Badge, Card, Facts, Field, Figure, Form, Problems, type Tone } from './ui.js';

/** A quote with its question, which a reservation asks again. */
export interface QuotedRun {
  readonly request: {
    readonly provider: string;
    readonly sku: string;
    readonly region: string | null;
    readonly term: Term;
    readonly upfront: string;
    readonly gpus: number;
    readonly hours: number;
  };
  /** Null: for no team's budgets. */
  readonly team: string | null;
  readonly quote: Quote;
}

const TONES: Readonly<Record<Verdict, Tone>> = { holds: 'good', 'at-risk': 'warn', unknown: 'warn', exceeds: 'bad' };

const columns = (): readonly Column<BudgetVerdict>[] => [
  {
    name: say('column.budget'),
    text: ({ budget }) => budget,
    cell: ({ budget }) => <a href={link('budgets', budget)}>{budget}</a>,
  },
  { name: say('column.team'), text: ({ team }) => team },
  {
    name: say('quotes.verdict'),
    text: ({ verdict }) => verdict,
    cell: ({ verdict, reasons }) => (
      <>
        <Badge tone={TONES[verdict]}>{code('verdict', verdict)}</Badge>
        {reasons.map((reason) => (
          <div class="note" key={reason}>
            <AsWritten>{reason}</AsWritten>
          </div>
        ))}
      </>
    ),
  },
  amountColumn(say('column.planned'), ({ planned }) => planned),
  amountColumn(say('quotes.left-before'), ({ left }) => left?.before ?? null),
  amountColumn(say('quotes.left-after'), ({ left }) => left?.after ?? null),
];

export function Quoted({
  quoted,
  refused,
}: {
  readonly quoted: QuotedRun;
  /** Why it may not be reserved; null: it may. */
  readonly refused: string | null;
}): JSX.Element {
  const { quote } = quoted;
  const { currency, interval, budgets } = quote;
  return (
    <Card title={say('quotes.of', { sku: quote.sku, term: code('term', quote.term) })}>
      <dl class="figures">
        <Figure
          name={say('column.cost')}
          value={<Amount amount={quote.cost} currency={currency} />}
          note={say('fleet.range', { low: money(interval.low, currency), high: money(interval.high, currency) })}
        />
        <Figure name={say('quotes.unit')} value={price(quote.unitPrice, currency)} />
        {budgets === null ? null : (
          <Figure
            name={say('quotes.verdict')}
            value={<Badge tone={TONES[budgets.verdict]}>{code('verdict', budgets.verdict)}</Badge>}
          />
        )}
      </dl>
      <Facts
        facts={[
          [say('column.provider'), quote.provider],
          [say('dimension.region'), quote.region ?? say('quotes.any-region')],
          [say('alert.source'), say('quotes.listed', { source: quote.source, at: instant(quote.effectiveFrom) })],
        ]}
      />
      <Because quote={quote} />
      {budgets === null ? (
        <p class="note">{say('quotes.no-budgets')}</p>
      ) : budgets.budgets.length === 0 ? (
        <p class="note">{say('quotes.none-covers')}</p>
      ) : (
        <Table
          caption={say('quotes.budgets')}
          columns={columns()}
          rows={budgets.budgets}
          keyOf={({ budget }) => budget}
          showsCaption
        />
      )}
      <Reserve quoted={quoted} refused={refused} />
    </Card>
  );
}

function Because({ quote: { interval, assumptions } }: { readonly quote: Quote }): JSX.Element {
  const lines = [...interval.because, ...interval.leavesOut, ...assumptions];
  return (
    <details>
      <summary>{say('quotes.because', { n: lines.length })}</summary>
      <ul>
        {lines.map((line) => (
          <li key={line}>
            <AsWritten>{line}</AsWritten>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Reserve({
  quoted: { request, team, quote },
  refused,
}: {
  readonly quoted: QuotedRun;
  readonly refused: string | null;
}): JSX.Element {
  const [reason, setReason] = useState('');
  const [made, setMade] = useState<Reservation | null>(null);
  const task = useTask(async () =>
    setMade(await send<Reservation>('POST', '/v1/reservations', { ...request, team, reason })),
  );
  if (made !== null)
    return (
      <p class="said" role="status">
        {say('quotes.reserved', {
          id: made.id,
          amount: money(made.amount, made.currency),
          until: instant(made.expiresAt),
        })}{' '}
        <a href={link('reservations', null, { team: made.team })}>{say('quotes.reservations')}</a>
      </p>
    );
  return (
    <Form onSend={task.run}>
      <Field label={say('quotes.reason')} note={say('quotes.reason-note')}>
        {(ids) => (
          <input
            {...ids}
            value={reason}
            maxLength={1000}
            onInput={({ currentTarget }) => setReason(currentTarget.value)}
          />
        )}
      </Field>
      <Act tone="primary" refused={refused} isBusy={task.isBusy}>
        {say('quotes.reserve', { amount: money(quote.interval.high, quote.currency) })}
      </Act>
      <Problems trouble={task.trouble} />
    </Form>
  );
}
