/**
 * What is recommended, by what it would save; and one recommendation: its numbers, its evidence, what it displaced, and
 * what people decide.
 */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { addDecimal, formatDecimal, negateDecimal, parseDecimal, ZERO } from '../../../core/decimal.js';
import { byLowEnd } from '../../../core/policy/recommendation.js';
import type { StoredRecommendation } from '../answers.js';
import { list, send } from '../api.js';
import { BacktestButton } from '../backtest.js';
import { ApproveChosen, choosing, reasonOf, type Decidable } from '../deciding.js';
import { code, count, duration, figureOf, instant, money, percent, within, words } from '../format.js';
import { joined, reader, say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { Rich } from '../rich.js';
import { SavingBar } from '../saving-bar.js';
import { go, link, place } from '../router.js';
import { Table, type Column } from '../table.js';
import {
  Act,
  Amount,
  AsWritten,
  Badge,
  Card,
  Empty,
  Facts,
  Figure,
  Instant,
  Page,
  Problems,
  Said,
  Select,
  Show,
  type Tone,
} from '../ui.js';

const STATUSES = ['open', 'observed', 'approved', 'rejected', 'superseded', 'expired'] as const;
const TONES: Readonly<Record<string, Tone>> = { open: 'warn', approved: 'good', rejected: 'bad' };

const saving = (one: StoredRecommendation): number | null =>
  one.estimatedMonthlySavings === null ? null : Number(one.estimatedMonthlySavings);

const columns = (): readonly Column<StoredRecommendation>[] => [
  { name: say('column.what'), text: ({ title }) => title, cell: (one) => <Named one={one} /> },
  { name: say('column.team'), text: ({ team }) => team, cell: ({ team }) => <a href={link('teams', team)}>{team}</a> },
  { name: say('column.policy'), text: ({ policy }) => policy },
  {
    name: say('column.saves'),
    text: ({ estimatedMonthlySavings }) => estimatedMonthlySavings ?? '',
    number: saving,
    cell: (one) =>
      one.protective && one.estimatedMonthlySavings === null ? (
        <span class="quiet">{say('saves.protects')}</span>
      ) : (
        <>
          <Amount amount={one.estimatedMonthlySavings} currency={one.currency} whole />
          <Bar one={one} />
          <Ends one={one} />
          <OfCost one={one} />
        </>
      ),
  },
  { name: say('column.interruption'), text: ({ risk }) => within(code('risk', risk.interruption)) },
  {
    name: say('column.until'),
    text: ({ expiresAt }) => expiresAt,
    cell: ({ expiresAt }) => <Instant at={expiresAt} />,
  },
];

/** Its interval around zero. Nothing where it is unknown. */
function Bar({ one }: { readonly one: StoredRecommendation }): JSX.Element | null {
  const {
    estimatedMonthlySavings: mean,
    estimatedMonthlySavingsLow: low,
    estimatedMonthlySavingsHigh: high,
    currency,
  } = one;
  return mean === null || low === null || high === null ? null : (
    <SavingBar mean={mean} low={low} high={high} currency={currency} />
  );
}

/** What the target costs now, and what it would: the difference is the saving, and lies where its interval does. */
function BeforeAfter({ one }: { readonly one: StoredRecommendation }): JSX.Element | null {
  const {
    estimatedMonthlyCost: cost,
    estimatedMonthlySavings: mean,
    estimatedMonthlySavingsLow: low,
    estimatedMonthlySavingsHigh: high,
    currency,
  } = one;
  if (cost === null || mean === null) return null;
  const less = (amount: string): string =>
    formatDecimal(addDecimal(parseDecimal(cost) ?? ZERO, negateDecimal(parseDecimal(amount) ?? ZERO)));
  return (
    <>
      <Figure name={say('saves.now')} value={<Amount amount={cost} currency={currency} />} />
      <Figure
        name={say('saves.then')}
        value={<Amount amount={less(mean)} currency={currency} />}
        note={
          low === null || high === null
            ? undefined
            : say('interval', { low: money(less(high), currency, true), high: money(less(low), currency, true) })
        }
      />
    </>
  );
}

/** Below a saving: its interval. Nothing where it is unknown. */
const Ends = ({ one }: { readonly one: StoredRecommendation }): JSX.Element | null =>
  one.estimatedMonthlySavingsLow === null || one.estimatedMonthlySavingsHigh === null ? null : (
    <div class="note">
      {say('interval', {
        low: money(one.estimatedMonthlySavingsLow, one.currency, true),
        high: money(one.estimatedMonthlySavingsHigh, one.currency, true),
      })}
    </div>
  );

/** Below a saving: of what. Nothing where either is unknown. */
const OfCost = ({ one }: { readonly one: StoredRecommendation }): JSX.Element | null =>
  one.estimatedMonthlySavings === null || one.estimatedMonthlyCost === null ? null : (
    <div class="note">{say('saves.of', { cost: money(one.estimatedMonthlyCost, one.currency, true) })}</div>
  );

/** `90% of a cost of $1,000.00`; null where nobody knows what the target costs, or it costs nothing. */
const shareOf = ({
  estimatedSavingsPercentage,
  estimatedMonthlyCost,
  currency,
}: StoredRecommendation): string | null =>
  estimatedSavingsPercentage === null || estimatedMonthlyCost === null
    ? null
    : say('saves.share', {
        share: percent(estimatedSavingsPercentage / 100),
        cost: money(estimatedMonthlyCost, currency),
      });

function filterOf(): { readonly team: string; readonly status: string } {
  const { query } = place.value;
  return { team: query.get('team') ?? '', status: query.get('status') ?? '' };
}

/** Its name in the reader's language: the server's titles are English, and stand below where that is another. */
const nameOf = ({ title, action, target }: StoredRecommendation): string =>
  isEnglish() ? title : `${code('do', action)} ${target}`;
const isEnglish = (): boolean => reader.value.language === 'en';

function Named({ one }: { readonly one: StoredRecommendation }): JSX.Element {
  return (
    <>
      <a href={link('recommendations', one.id, filterOf())}>{nameOf(one)}</a>
      {isEnglish() ? null : (
        <div class="note">
          <AsWritten>{one.title}</AsWritten>
        </div>
      )}
    </>
  );
}

const decidableOf = (one: StoredRecommendation): Decidable => ({
  id: one.id,
  name: `${nameOf(one)} (${one.team})`,
  refused: reasonOf(one.may.approve),
});

export function Recommendations(): JSX.Element {
  const { id } = place.value;
  const { team, status } = filterOf();
  const asked = status === '' ? 'open' : status;
  const loaded = useLoaded(`recommendations ${team} ${asked}`, (halt) =>
    list<StoredRecommendation>('/v1/recommendations', { status: asked, team: team === '' ? null : team }, halt),
  );
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const found = loaded.data?.items.find((one) => one.id === id);
  if (id !== null && found !== undefined) return <One key={id} one={found} again={loaded.again} />;
  return (
    <Page
      title={say('page.recommendations')}
      lead={team === '' ? say('recommendations.lead') : say('of-team', { team })}
      actions={
        <Select
          label={say('column.status')}
          value={asked}
          options={STATUSES.map((one) => [one, code('status', one)])}
          onPick={(next) => go(link('recommendations', null, { team, status: next }))}
        />
      }
    >
      {id !== null && !loaded.isLoading && loaded.trouble === null ? (
        <p class="warning">{say('recommendations.missing', { id })}</p>
      ) : null}
      <Show loaded={loaded}>
        {({ items, more }) => {
          if (items.length === 0)
            return (
              <Empty>
                {asked === 'open' ? (
                  <Rich
                    of="recommendations.empty"
                    given={{
                      a: (inner) => <a href={link('imports')}>{inner}</a>,
                      policies: (inner) => <a href={link('policies')}>{inner}</a>,
                    }}
                  />
                ) : (
                  say('recommendations.none', { status: within(code('status', asked)) })
                )}
              </Empty>
            );
          const bySaving = [...items].sort(byLowEnd);
          return (
            <>
              {more ? <p class="warning">{say('recommendations.many')}</p> : null}
              <Table
                caption={say('page.recommendations')}
                file="recommendations"
                columns={
                  items.some(({ may }) => may.approve === null)
                    ? [choosing<StoredRecommendation>(chosen, choose, decidableOf), ...columns()]
                    : columns()
                }
                rows={bySaving}
                keyOf={(one) => one.id}
                isCaptionHidden
              />
            </>
          );
        }}
      </Show>
      <ApproveChosen
        chosen={(loaded.data?.items ?? []).filter(({ id: own }) => chosen.has(own)).map(decidableOf)}
        path="/v1/recommendations"
        summary={say('deciding.each')}
        onDecided={() => {
          choose(new Set());
          loaded.again();
        }}
      />
    </Page>
  );
}

function One({ one, again }: { readonly one: StoredRecommendation; readonly again: () => void }): JSX.Element {
  const decide = useTask(async (verb: 'approve' | 'reject') => {
    const decided = await send<StoredRecommendation>(
      'POST',
      `/v1/recommendations/${encodeURIComponent(one.id)}/${verb}`,
    );
    if (decided.actionId !== null) go(link('actions', decided.actionId));
    else again();
    return verb === 'reject'
      ? say('decided.rejected')
      : decided.obstacle === null
        ? say('decided.approved')
        : say('decided.obstacle', { message: decided.obstacle.message });
  });
  const [asks, setAsks] = useState(false);
  return (
    <Page
      title={nameOf(one)}
      lead={
        <>
          {isEnglish() ? null : (
            <>
              <AsWritten>{one.title}</AsWritten>
              <br />
            </>
          )}
          <Badge tone={TONES[one.status] ?? 'plain'}>{code('status', one.status)}</Badge>{' '}
          <Rich
            of="recommendations.for"
            given={{
              action: code('do', one.action),
              target: one.target,
              team: <a href={link('teams', one.team)}>{one.team}</a>,
            }}
          />
        </>
      }
      actions={<a href={link('recommendations', null, filterOf())}>{say('recommendations.all')}</a>}
    >
      <Card title={say('recommendations.saves')}>
        <dl class="figures">
          <BeforeAfter one={one} />
          <Figure
            name={say('saved.estimated')}
            value={
              one.protective && one.estimatedMonthlySavings === null ? (
                say('saves.protects')
              ) : (
                <Amount amount={one.estimatedMonthlySavings} currency={one.currency} />
              )
            }
            note={
              one.estimatedMonthlySavingsLow === null
                ? undefined
                : joined([
                    shareOf(one),
                    say('interval', {
                      low: money(one.estimatedMonthlySavingsLow, one.currency),
                      high: money(one.estimatedMonthlySavingsHigh, one.currency),
                    }),
                  ])
            }
          />
          <Figure
            name={say('column.interruption')}
            value={code('risk', one.risk.interruption)}
            note={<AsWritten>{one.risk.note}</AsWritten>}
          />
          <Figure
            name={say('effort')}
            value={code('effort', one.implementationEffort)}
            note={one.rollbackPossible ? say('effort.back') : say('effort.no-back')}
          />
        </dl>
        <Bar one={one} />
        {one.obstacle === null ? null : (
          <p class="warning">
            {say('recommendations.obstacle')} <AsWritten>{one.obstacle.message}</AsWritten>
          </p>
        )}
        <div class="buttons">
          <Act tone="primary" refused={reasonOf(one.may.approve)} isBusy={decide.isBusy} onAct={() => setAsks(true)}>
            {say('approve')}
          </Act>
          <Act refused={reasonOf(one.may.reject)} isBusy={decide.isBusy} onAct={() => decide.run('reject')}>
            {say('reject')}
          </Act>
          {one.actionId === null ? null : <a href={link('actions', one.actionId)}>{say('recommendations.action')}</a>}
          <a href={link('explain', one.target)}>{say('explain.why')}</a>
        </div>
        {asks && one.may.approve === null ? (
          <div class="ask">
            <p>
              <strong>{say('deciding.sure', { n: 1 })}</strong> {code('do', one.action)} {one.target}.{' '}
              <AsWritten>{one.risk.note}</AsWritten>
            </p>
            <div class="buttons">
              <button
                type="button"
                class="primary"
                aria-disabled={decide.isBusy}
                onClick={() => {
                  setAsks(false);
                  decide.run('approve');
                }}
              >
                {say('approve.do')}
              </button>
              <button type="button" onClick={() => setAsks(false)}>
                {say('leave')}
              </button>
            </div>
          </div>
        ) : null}
        <Problems trouble={decide.trouble} />
        <Said>{decide.said}</Said>
      </Card>
      <div class="cards">
        <Card title={say('recommendations.numbers')}>
          {Object.keys(one.computation).length === 0 ? (
            <Empty>{say('recommendations.no-numbers')}</Empty>
          ) : (
            <Facts
              facts={Object.entries(one.computation).map(([name, value]) =>
                figureOf('measure', name, value, one.currency),
              )}
            />
          )}
        </Card>
        <Card title={say('evidence')}>
          <Evidence one={one} />
        </Card>
      </div>
      <Card title={say('recommendations.before')}>
        <p>
          <Rich
            of="recommendations.backtest"
            given={{
              policy: <a href={link('policies', one.document)}>{one.policy}</a>,
              version: count(one.policyVersion),
            }}
          />
        </p>
        <BacktestButton document={one.document} team={one.team} />
      </Card>
      {one.insteadOf.length === 0 ? null : (
        <Card title={say('recommendations.instead')}>
          <ul class="plain">
            {one.insteadOf.map((other, at) => (
              <li key={at}>
                {say('recommendations.other', {
                  action: code('do', other.action),
                  target: other.target,
                  document: other.document,
                  because: code('because', other.because),
                  amount: money(other.estimatedMonthlySavings, one.currency),
                })}
              </li>
            ))}
          </ul>
        </Card>
      )}
    </Page>
  );
}

function Evidence({ one }: { readonly one: StoredRecommendation }): JSX.Element {
  return (
    <>
      <ul class="plain">
        {one.evidence.map((each, at) => (
          <li key={at}>
            <AsWritten>{words(each.what)}</AsWritten>
            <div class="note">
              {say('evidence.line', { from: instant(each.from), to: instant(each.to), age: duration(each.ageSeconds) })}
            </div>
          </li>
        ))}
      </ul>
      <Facts
        facts={[
          [say('evidence.made'), instant(one.madeAt)],
          [say('evidence.until'), instant(one.expiresAt)],
          ...(one.decidedBy === null ? [] : [[say('evidence.decided'), one.decidedBy] as const]),
          ...Object.entries(one.change).map(([name, value]) => figureOf('field', name, value, one.currency)),
        ]}
      />
    </>
  );
}
