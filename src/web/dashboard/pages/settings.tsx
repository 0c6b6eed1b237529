/** The settings: an index by task, and a page for each. */
import type { JSX } from 'preact';
import { SETTINGS } from '../../../core/pages.js';
import type { Page as List, Team } from '../answers.js';
import { get, refusal, send } from '../api.js';
import { KNOWN, ReadOnly } from '../form.js';
import { Help } from '../help.js';
import { say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { link } from '../router.js';
import { Keys } from '../settings/keys.js';
import { Mutes } from '../settings/mutes.js';
import { Rules } from '../settings/rules.js';
import { SectionPage } from '../settings/section.js';
import { isSection, sectionOf, type SectionName } from '../settings/sections.js';
import { KillSwitch } from '../settings/stop.js';
import { Act, Card, Empty, Page, Problems, Said, Unseen } from '../ui.js';

/** Settings with their own page. */
const OWN = { rules: Rules, mutes: Mutes, keys: Keys, stop: KillSwitch } as const;
/** Terms of a setting that need an explanation. */
const EXPLAINED = {
  peak: ['peak'],
  budgets: ['threshold', 'actual', 'accrued', 'effective'],
  rules: ['unallocated'],
  limits: ['guard', 'canary', 'evidence'],
  reconciliation: ['accrued', 'billed'],
} as const;
const isExplained = (name: string): name is keyof typeof EXPLAINED => Object.hasOwn(EXPLAINED, name);

type Name = SectionName | keyof typeof OWN;

/** What the settings need that not everybody may read. */
const READ_BY: Readonly<Partial<Record<Name, Parameters<typeof refusal>>>> = {
  rules: ['read', true],
  routes: ['read', true],
  credits: ['read', true],
  admission: ['read', true],
  keys: ['admin'],
  roles: ['admin'],
};
const isOwn = (name: string): name is keyof typeof OWN => Object.hasOwn(OWN, name);

const INDEX: Readonly<Record<keyof typeof SETTINGS, readonly Name[]>> = SETTINGS;

export function Settings(): JSX.Element {
  return (
    <Page title={say('page.settings')} lead={say('settings.lead')}>
      <div class="cards">
        {(Object.keys(INDEX) as (keyof typeof INDEX)[]).map((group) => (
          <Card key={group} title={say(`settings.group-${group}`)}>
            <ul class="plain">
              {INDEX[group].map((name) => (
                <li key={name}>
                  <a href={link('settings', name)}>{say(`settings.${name}`)}</a>
                  <div class="note">{say(`settings.${name}-note`)}</div>
                </li>
              ))}
            </ul>
          </Card>
        ))}
      </div>
    </Page>
  );
}

export function SettingPage({ id }: { readonly id: string }): JSX.Element {
  if (!isSection(id) && !isOwn(id))
    return (
      <Page title={say('page.settings')}>
        <Empty>
          {say('settings.no-such')} <a href={link('settings')}>{say('page.settings')}</a>
        </Empty>
      </Page>
    );
  const hidden = refusal(...(READ_BY[id] ?? ['read']));
  return (
    <Page
      title={say(`settings.${id}`)}
      lead={say(`settings.${id}-note`)}
      actions={
        <>
          {isExplained(id) ? <Help of={EXPLAINED[id]} /> : null}
          <a href={link('settings')}>{say('settings.all')}</a>
        </>
      }
    >
      {hidden === null ? <Setting id={id} /> : <Unseen why={hidden} />}
    </Page>
  );
}

function Setting({ id }: { readonly id: Name }): JSX.Element {
  const Own = isOwn(id) ? OWN[id] : null;
  return (
    <>
      <Known />
      {Own === null ? <Section key={id} name={id as SectionName} /> : <Own />}
      {id === 'routes' ? <TestMessage /> : null}
    </>
  );
}

/** One that its reader may not save is only looked at. */
function Section({ name }: { readonly name: SectionName }): JSX.Element {
  const { scope, ofAllTeams } = sectionOf(name);
  const why = refusal(scope, ofAllTeams);
  const page = <SectionPage name={name} />;
  return why === null ? (
    page
  ) : (
    <ReadOnly.Provider value>
      <p class="note">{say('refused.change', { why })}</p>
      <div class="read-only">{page}</div>
    </ReadOnly.Provider>
  );
}

/** Teams and time zones that the fields of forms suggest. */
function Known(): JSX.Element {
  const { data } = useLoaded('known teams', (halt) => get<List<Team>>('/v1/teams', { limit: 1000 }, halt));
  const values: Readonly<Record<(typeof KNOWN)[number], readonly string[]>> = {
    team: data?.items.map(({ id }) => id) ?? [],
    zone: Intl.supportedValuesOf('timeZone'),
  };
  return (
    <>
      {KNOWN.map((name) => (
        <datalist key={name} id={`known-${name}`}>
          {values[name].map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      ))}
    </>
  );
}

function TestMessage(): JSX.Element {
  const { isBusy, trouble, said, run } = useTask(async () => {
    await send('POST', '/v1/alerts/test');
    return say('settings.test-sent');
  });
  return (
    <Card title={say('settings.test')}>
      <p>{say('settings.test-note')}</p>
      <Act refused={refusal('admin', true)} isBusy={isBusy} onAct={run}>
        {say('settings.test-do')}
      </Act>
      <Problems trouble={trouble} />
      <Said>{said}</Said>
    </Card>
  );
}
