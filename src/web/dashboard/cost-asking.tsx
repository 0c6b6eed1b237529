/** The form of the cost explorer: period, keys, basis and filters. Each change is an address. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { CostBreakdown } from './answers.js';
import { get } from './api.js';
import { nameIn } from './cost-gaps.js';
import {
  COST_BASES,
  COST_KEYS,
  moved,
  queryOf,
  SPANS,
  withFilter,
  withoutFilter,
  wordsOf,
  type CostKey,
  type CostQuestion,
} from './cost-question.js';
import { code } from './format.js';
import { say, type TextKey } from './language.js';
import { useLoaded } from './loading.js';
import { go, link } from './router.js';
import { Day, Select } from './ui.js';

const CURRENCIES = ['', 'USD', 'EUR', 'CNY', 'GBP', 'JPY'];

export const ask = (question: CostQuestion): void => go(link('costs', null, wordsOf(question)));

const keyNames = (): (readonly [string, string])[] => COST_KEYS.map((key) => [key, code('dimension', key)]);

/** The reader's own zone, UTC, and the requested one. */
const zones = (own: string): string[] => [
  ...new Set(['UTC', Intl.DateTimeFormat().resolvedOptions().timeZone, own].filter((one) => one !== '')),
];

export function Asking({
  question,
  shown,
}: {
  readonly question: CostQuestion;
  /** The period of the answer, once it is there. */
  readonly shown: { readonly from: string; readonly to: string } | null;
}): JSX.Element {
  const { from, to, span, groupBy, basis, zone, currency, compares } = question;
  const [first = 'team', second = ''] = groupBy;
  const chosen = from !== '' || to !== '';
  const pickSpan = (picked: string): void =>
    ask(
      picked === 'days'
        ? { ...question, from: shown?.from ?? '', to: shown?.to ?? '' }
        : { ...question, from: '', to: '', span: picked },
    );
  return (
    <div class="asking">
      <div class="fields">
        <Select
          label={say('explorer.time')}
          value={chosen ? 'days' : span}
          options={[
            ...SPANS.map(
              (one) => [one, say(`explorer.span-${one}` as TextKey & `explorer.span-${typeof one}`)] as const,
            ),
            ['days', say('explorer.days')],
          ]}
          onPick={pickSpan}
        />
        {chosen ? <Days question={question} /> : null}
        <Select
          label={say('cost.by')}
          value={first}
          options={keyNames()}
          onPick={(key) => ask({ ...question, groupBy: [key, ...(second === '' || second === key ? [] : [second])] })}
        />
        <Select
          label={say('explorer.then-by')}
          value={second}
          options={[['', say('none')], ...keyNames().filter(([key]) => key !== first)]}
          onPick={(key) => ask({ ...question, groupBy: key === '' ? [first] : [first, key] })}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={compares}
            onChange={({ currentTarget }) => ask({ ...question, compares: currentTarget.checked })}
          />{' '}
          {say('explorer.compare')}
        </label>
      </div>
      <div class="fields">
        <Select
          label={say('explorer.basis')}
          value={basis}
          options={COST_BASES.map((one) => [one, say(`explorer.basis-${one}`)])}
          onPick={(picked) => ask({ ...question, basis: picked })}
        />
        <Select
          label={say('explorer.zone')}
          value={zone}
          options={zones(zone).map((one) => [one, one])}
          onPick={(picked) => ask({ ...question, zone: picked })}
        />
        <Select
          label={say('currency')}
          value={currency}
          options={[...new Set([...CURRENCIES, currency])].map((one) => [
            one,
            one === '' ? say('explorer.own-currency') : one,
          ])}
          onPick={(picked) => ask({ ...question, currency: picked })}
        />
      </div>
      <Filters question={question} />
    </div>
  );
}

/** The two ends; one that is typed beyond the other takes it along. */
function Days({ question }: { readonly question: CostQuestion }): JSX.Element {
  const { from, to } = question;
  const last = moved(to, -1);
  const change = (first: string, end: string): void => ask({ ...question, from: first, to: moved(end, 1) });
  return (
    <>
      <Day
        label={say('from')}
        value={from}
        max={last}
        onPick={(first) => change(first, last !== '' && last < first ? first : last)}
      />
      <Day
        label={say('explorer.last-day')}
        value={last}
        min={from}
        onPick={(end) => change(end !== '' && end < from ? end : from, end)}
      />
    </>
  );
}

function Filters({ question }: { readonly question: CostQuestion }): JSX.Element {
  const [key, setKey] = useState<CostKey | ''>('');
  const chips = (Object.entries(question.filters) as [CostKey, readonly string[]][]).flatMap(([name, values]) =>
    values.map((value) => [name, value] as const),
  );
  return (
    <div class="fields">
      <Select
        label={say('explorer.filter')}
        value={key}
        options={[['', say('explorer.filter-by')], ...keyNames()]}
        onPick={(picked) => setKey(picked as CostKey | '')}
      />
      {key === '' ? null : (
        <Values
          key={key}
          question={question}
          of={key}
          onPick={(value) => {
            setKey('');
            ask(withFilter(question, key, value));
          }}
        />
      )}
      {chips.length === 0 ? null : (
        <ul class="chips" aria-label={say('explorer.filters')}>
          {chips.map(([name, value]) => (
            <li key={`${name} ${value}`}>
              <button type="button" class="chip" onClick={() => ask(withoutFilter(question, name, value))}>
                {code('dimension', name)}: {nameIn(name, value)} <span aria-hidden="true">×</span>
                <span class="hidden"> {say('explorer.drop')}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The values of a key in the period shown, the costliest first. */
function Values({
  question,
  of,
  onPick,
}: {
  readonly question: CostQuestion;
  readonly of: CostKey;
  readonly onPick: (value: string) => void;
}): JSX.Element {
  const { [of]: _own, ...others } = question.filters;
  const query = { ...queryOf({ ...question, groupBy: [of], compares: false, filters: others }), limit: 1000 };
  const { data } = useLoaded(`values ${JSON.stringify(query)}`, (halt) =>
    get<CostBreakdown>('/v1/costs/breakdown', query, halt),
  );
  const values = [...new Set((data?.rows ?? []).map(({ names: [name] }) => name ?? ''))];
  return (
    <Select
      label={code('dimension', of)}
      value="?"
      options={[
        ['?', data === null ? say('loading') : say('explorer.choose')],
        ...values.map((value) => [`=${value}`, nameIn(of, value)] as const),
      ]}
      onPick={(picked) => (picked === '?' ? undefined : onPick(picked.slice(1)))}
    />
  );
}
