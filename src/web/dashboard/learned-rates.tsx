/** The rates learned from closed bills, the basis of each, and taking one back. */
import type { JSX } from 'preact';
import type { LearnedRate } from './answers.js';
import { list, refusal, send } from './api.js';
import { numberColumn } from './columns.js';
import { code, decimal, instant, money, month } from './format.js';
import { joined, say } from './language.js';
import { useLoaded, useTask } from './loading.js';
import { Sure } from './sure.js';
import { Table, type Column } from './table.js';
import { AsWritten, Badge, Card, Empty, Problems, Said, Show, Unseen } from './ui.js';

const stateOf = ({ trusted, withdrawnAt }: LearnedRate): 'withdrawn' | 'trusted' | 'not-trusted' =>
  withdrawnAt !== null ? 'withdrawn' : trusted ? 'trusted' : 'not-trusted';

const columns = (act: (one: LearnedRate) => JSX.Element | null): readonly Column<LearnedRate>[] => [
  {
    name: say('column.what'),
    text: ({ provider, sku, region }) => joined([`${provider} ${sku}`, region]),
    cell: ({ provider, sku, region, account, term }) => (
      <>
        {provider} {sku}
        <div class="note">{joined([region, term === null ? null : code('term', term), account])}</div>
      </>
    ),
  },
  {
    name: say('rates.from'),
    text: (one) => `${one.source} ${one.month}`,
    cell: (one) => (
      <>
        {one.source} <span class="note">{month(one.month)}</span>
        <div class="note">{say('rates.applies', { at: instant(one.appliesFrom) })}</div>
      </>
    ),
  },
  numberColumn(
    say('rates.ratio'),
    ({ ratio }) => ratio,
    (ratio) => decimal(ratio, 4),
  ),
  {
    name: say('help.evidence'),
    text: ({ evidence: { charged, listCost } }) => `${charged} / ${listCost}`,
    cell: ({ evidence: { charged, listCost, currency, days, meteredGpuHours } }) => (
      <>
        {say('rates.charged', { charged: money(charged, currency), list: money(listCost, currency) })}
        <div class="note">{say('rates.over', { n: days, hours: decimal(meteredGpuHours) })}</div>
      </>
    ),
  },
  {
    name: say('column.state'),
    text: stateOf,
    cell: (one) => (
      <>
        <Badge tone={stateOf(one) === 'trusted' ? 'good' : stateOf(one) === 'withdrawn' ? 'plain' : 'warn'}>
          {code('rate', stateOf(one))}
        </Badge>
        {one.withdrawnBy === null ? null : <div class="note">{say('by', { who: one.withdrawnBy })}</div>}
        {one.distrust.map((why) => (
          <div class="note" key={why}>
            <AsWritten>{why}</AsWritten>
          </div>
        ))}
      </>
    ),
  },
  { name: say('rates.withdraw'), text: () => '', cell: act },
];

export function LearnedRates(): JSX.Element {
  // A rate belongs to an account, not to a team: readers restricted to some teams do not see rates.
  const refused = refusal('read', true);
  const loaded = useLoaded(`rates ${refused === null}`, async (halt) =>
    refused === null
      ? list<LearnedRate>('/v1/reconciliation/rates', {}, halt, 500)
      : { items: [] as readonly LearnedRate[], more: false },
  );
  const task = useTask(async (id: string) => {
    await send('POST', `/v1/reconciliation/rates/${encodeURIComponent(id)}/withdraw`);
    loaded.again();
    return say('rates.withdrawn', { id });
  });
  const act = ({ id, withdrawnAt }: LearnedRate): JSX.Element | null =>
    withdrawnAt !== null ? null : (
      <Sure
        name={say('rates.withdraw')}
        of={id}
        sure={say('rates.sure')}
        refused={refusal('configure', true)}
        isBusy={task.isBusy}
        onAct={() => task.run(id)}
      />
    );
  return (
    <Card title={say('rates.title')}>
      <Problems trouble={task.trouble} />
      <Said>{task.said}</Said>
      {refused !== null ? (
        <Unseen why={refused} />
      ) : (
        <Show loaded={loaded}>
          {({ items, more }) =>
            items.length === 0 ? (
              <Empty>{say('rates.empty')}</Empty>
            ) : (
              <>
                {more ? <p class="warning">{say('newest.500')}</p> : null}
                <Table
                  caption={say('rates.title')}
                  file="learned-rates"
                  columns={columns(act)}
                  rows={items}
                  keyOf={({ id }) => id}
                />
                <p class="note">{say('rates.note')}</p>
              </>
            )
          }
        </Show>
      )}
    </Card>
  );
}
