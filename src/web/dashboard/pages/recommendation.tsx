/** One recommendation: what it saves, its numbers, its evidence, what it displaced, and what people decide. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { StoredRecommendation } from '../answers.js';
import { send } from '../api.js';
import { Ask } from '../ask.js';
import { BacktestButton } from '../backtest.js';
import { reasonOf } from '../deciding.js';
import { EvidencePicture } from '../evidence-picture.js';
import { code, count, duration, figureOf, instant, money, sentence } from '../format.js';
import { inReadersWords, reader, say } from '../language.js';
import { useTask } from '../loading.js';
import { measureOf } from '../measures.js';
import { Rich } from '../rich.js';
import { go, link, place } from '../router.js';
import { Bar, Figures } from '../saves.js';
import { State } from './action.js';
import { Act, AsWritten, Badge, Card, Empty, Facts, Page, Problems, Said, type Tone } from '../ui.js';

const TONES: Readonly<Record<string, Tone>> = { open: 'warn', approved: 'good', rejected: 'bad' };

/** The words of the list that it was opened from. */
export function filterOf(): { readonly team: string; readonly status: string } {
  const { query } = place.value;
  return { team: query.get('team') ?? '', status: query.get('status') ?? '' };
}

/** Its name in the reader's language: the server's title, and what is to be done where only its English is known. */
export const nameOf = ({ title, action, target }: StoredRecommendation): string =>
  isEnglish() ? title : (inReadersWords(title) ?? `${code('do', action)} ${target}`);
const isEnglish = (): boolean => reader.value.language === 'en';
/** The title as the server has it, below a name that does not say it. */
export const isEnglishOnly = ({ title }: StoredRecommendation): boolean =>
  !isEnglish() && inReadersWords(title) === null;

interface Props {
  readonly one: StoredRecommendation;
}

export function One({ one, again }: Props & { readonly again: () => void }): JSX.Element {
  return (
    <Page
      title={nameOf(one)}
      lead={<Lead one={one} />}
      actions={<a href={link('recommendations', null, filterOf())}>{say('recommendations.all')}</a>}
    >
      <Card title={say('recommendations.saves')} terms={['interval', 'break-even', 'commitment']}>
        <Figures one={one} />
        <Bar one={one} />
        {one.obstacle === null ? null : (
          <p class="warning">
            {say('recommendations.obstacle')} <AsWritten>{one.obstacle.message}</AsWritten>
          </p>
        )}
        <Decisions one={one} again={again} />
      </Card>
      <Card title={say('evidence.picture')}>
        <EvidencePicture recommendation={one.id} />
      </Card>
      <div class="cards">
        <Card title={say('recommendations.numbers')}>
          <Numbers one={one} />
        </Card>
        <Card title={say('evidence')} terms={['evidence', 'coverage']}>
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
          <Displaced one={one} />
        </Card>
      )}
    </Page>
  );
}

/** What became of an approved one: the state of its action. Nothing: it has none, or was not approved. */
export const Became = ({ one: { status, actionId, actionState } }: Props): JSX.Element | null =>
  status !== 'approved' || actionId === null || actionState === null ? null : (
    <a href={link('actions', actionId)}>
      {say('recommendations.became')} <State of={{ state: actionState, reasons: [] }} />
    </a>
  );

const Lead = ({ one }: Props): JSX.Element => (
  <>
    {!isEnglishOnly(one) ? null : (
      <>
        <AsWritten>{one.title}</AsWritten>
        <br />
      </>
    )}
    <Badge tone={TONES[one.status] ?? 'plain'}>{code('status', one.status)}</Badge> <Became one={one} />{' '}
    <Rich
      of="recommendations.for"
      given={{
        action: code('do', one.action),
        target: one.target,
        team: <a href={link('teams', one.team)}>{one.team}</a>,
      }}
    />
  </>
);

/** Approving, which is asked for once more, and rejecting; an action that follows is opened. */
function Decisions({ one, again }: Props & { readonly again: () => void }): JSX.Element {
  const { id, action, target, risk, may, actionId } = one;
  const [asks, setAsks] = useState(false);
  const decide = useTask(async (verb: 'approve' | 'reject') => {
    const sent = send<StoredRecommendation>('POST', `/v1/recommendations/${encodeURIComponent(id)}/${verb}`);
    const decided = await sent.catch((trouble: unknown) => {
      // Somebody else has decided, or its time is over: the page shows how it stands.
      again();
      throw trouble;
    });
    if (decided.actionId !== null) go(link('actions', decided.actionId));
    else again();
    return verb === 'reject'
      ? say('decided.rejected')
      : decided.obstacle === null
        ? say('decided.approved')
        : say('decided.obstacle', { message: decided.obstacle.message });
  });
  const approve = (): void => {
    setAsks(false);
    decide.run('approve');
  };
  return (
    <>
      <div class="buttons">
        <Act tone="primary" refused={reasonOf(may.approve)} isBusy={decide.isBusy} onAct={() => setAsks(true)}>
          {say('approve')}
        </Act>
        <Act refused={reasonOf(may.reject)} isBusy={decide.isBusy} onAct={() => decide.run('reject')}>
          {say('reject')}
        </Act>
        {actionId === null ? null : <a href={link('actions', actionId)}>{say('recommendations.action')}</a>}
        <a href={link('explain', target)}>{say('explain.why')}</a>
      </div>
      {asks && may.approve === null ? (
        <Ask
          name={say('deciding.sure', { n: 1 })}
          yes={say('approve.do')}
          tone="primary"
          isBusy={decide.isBusy}
          onYes={approve}
          onLeave={() => setAsks(false)}
        >
          <p>
            <strong>{say('deciding.sure', { n: 1 })}</strong> {code('do', action)} {target}.{' '}
            <AsWritten>{risk.note}</AsWritten>
          </p>
        </Ask>
      ) : null}
      <Problems trouble={decide.trouble} />
      <Said>{decide.said}</Said>
    </>
  );
}

function Numbers({ one: { computation, currency } }: Props): JSX.Element {
  const all = Object.entries(computation);
  if (all.length === 0) return <Empty>{say('recommendations.no-numbers')}</Empty>;
  return <Facts facts={all.map(([name, value]) => measureOf(name, value, currency))} />;
}

/** What was proposed for the target and lost against it. */
const Displaced = ({ one }: Props): JSX.Element => (
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
);

function Evidence({ one }: { readonly one: StoredRecommendation }): JSX.Element {
  return (
    <>
      <ul class="plain">
        {one.evidence.map((each, at) => (
          <li key={at}>
            <AsWritten>{sentence(each.what)}</AsWritten>
            <div class="note">
              {say('evidence.line', { from: instant(each.from), to: instant(each.to), age: duration(each.ageSeconds) })}
            </div>
          </li>
        ))}
      </ul>
      <Facts
        facts={[
          [say('column.made'), instant(one.madeAt)],
          [say('evidence.until'), instant(one.expiresAt)],
          ...(one.decidedBy === null ? [] : [[say('evidence.decided'), one.decidedBy] as const]),
          ...Object.entries(one.change).map(([name, value]) => figureOf('field', name, value, one.currency)),
        ]}
      />
    </>
  );
}
