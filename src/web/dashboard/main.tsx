/** The dashboard's entry point: the signed-in user, the open page, and the frame around it. */
import { render, type JSX } from 'preact';
import { useRef } from 'preact/hooks';
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { LANGUAGES, type Language } from '../../core/report/reader.js';
import type { Session, SignedIn, Team as TeamAnswer } from './answers.js';
import { get, session, Trouble, unseen } from './api.js';
import { keepFocus } from './focus.js';
import { code } from './format.js';
import { useAnswer } from './loading.js';
import { joined, loadTexts, reader, say, TAGS } from './language.js';
import { Navigation, type PageName, type PageText } from './navigation.js';
import { ActionPage } from './pages/action.js';
import { Actions } from './pages/actions.js';
import { AlertPage, Alerts } from './pages/alerts.js';
import { Anomalies } from './pages/anomalies.js';
import { Audit } from './pages/audit.js';
import { BudgetPage, BudgetsPage } from './pages/budgets.js';
import { Costs } from './pages/costs.js';
import { Explain } from './pages/explain.js';
import { Fleet } from './pages/fleet.js';
import { HelpPage } from './pages/help.js';
import { ImportPage, Imports } from './pages/imports.js';
import { Overview } from './pages/overview.js';
import { Policies } from './pages/policies.js';
import { Quotes } from './pages/quotes.js';
import { Recommendations } from './pages/recommendations.js';
import { Reconciliation } from './pages/reconciliation.js';
import { Reports } from './pages/reports.js';
import { Reservations } from './pages/reservations.js';
import { SavingPage, Savings } from './pages/savings.js';
import { Sessions } from './pages/sessions.js';
import { SettingPage, Settings } from './pages/settings.js';
import { SignIn, SignOut } from './pages/sign-in.js';
import { Team, Teams } from './pages/teams.js';
import { choose, NAMES } from './reader.js';
import { place, returnToPlace } from './router.js';
import { link, routeOf, type Place } from './routes.js';
import { Rich } from './rich.js';
import { SearchField } from './search-field.js';
import { Stopped } from './stopped.js';
import { theme, THEMES, type Theme } from './theme.js';
import { Empty, Page, Problems } from './ui.js';

type Drawing = (id: string | null) => JSX.Element;

/** navigation.tsx defines their order. */
const PAGES: Readonly<Record<PageName, { readonly name: PageText; readonly draw: Drawing }>> = {
  '': { name: 'page.overview', draw: () => <Overview /> },
  costs: { name: 'page.costs', draw: () => <Costs /> },
  fleet: { name: 'page.fleet', draw: () => <Fleet /> },
  teams: { name: 'page.teams', draw: (id) => (id === null ? <Teams /> : <Team key={id} id={id} />) },
  budgets: { name: 'page.budgets', draw: (id) => (id === null ? <BudgetsPage /> : <BudgetPage key={id} id={id} />) },
  recommendations: { name: 'page.recommendations', draw: () => <Recommendations /> },
  actions: { name: 'page.actions', draw: (id) => (id === null ? <Actions /> : <ActionPage key={id} id={id} />) },
  savings: { name: 'page.savings', draw: (id) => (id === null ? <Savings /> : <SavingPage key={id} id={id} />) },
  alerts: { name: 'page.alerts', draw: (id) => (id === null ? <Alerts /> : <AlertPage key={id} id={id} />) },
  policies: { name: 'page.policies', draw: () => <Policies /> },
  explain: { name: 'page.explain', draw: (id) => <Explain key={id} /> },
  imports: { name: 'page.imports', draw: (id) => (id === null ? <Imports /> : <ImportPage key={id} id={id} />) },
  anomalies: { name: 'page.anomalies', draw: () => <Anomalies /> },
  quotes: { name: 'page.quotes', draw: () => <Quotes /> },
  reservations: { name: 'page.reservations', draw: () => <Reservations /> },
  reports: { name: 'page.reports', draw: () => <Reports /> },
  reconciliation: { name: 'page.reconciliation', draw: () => <Reconciliation /> },
  audit: { name: 'page.audit', draw: () => <Audit /> },
  settings: { name: 'page.settings', draw: (id) => (id === null ? <Settings /> : <SettingPage key={id} id={id} />) },
  sessions: { name: 'page.sessions', draw: () => <Sessions /> },
  help: { name: 'page.help', draw: () => <HelpPage /> },
};

function App(): JSX.Element {
  const main = useRef<HTMLElement>(null);
  const caller = session.value?.signedIn ?? null;
  const skip = (event: Event): void => {
    event.preventDefault();
    main.current?.focus();
  };
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        {say('frame.skip')}
      </a>
      <header class="top">
        <a class="brand" href="#/">
          Bursar
        </a>
        {caller === null ? <span /> : <SearchField names={PAGES} />}
        <div class="who">
          <Choices />
          {caller === null ? null : (
            <>
              <Who caller={caller} />
              <SignOut />
            </>
          )}
        </div>
      </header>
      <div class={caller === null ? '' : 'frame'}>
        {caller === null ? null : <Navigation names={PAGES} />}
        <main ref={main} id="main" tabIndex={-1}>
          {caller === null ? null : <Stopped />}
          {caller === null ? <SignIn /> : draw(place.value)}
        </main>
      </div>
      <footer>
        {caller === null ? null : (
          <>
            <a href={link('help')}>{say('page.help')}</a>{' '}
          </>
        )}
        <a href="/docs">{say('frame.api')}</a>
      </footer>
    </>
  );
}

/** Language and colours. */
function Choices(): JSX.Element {
  return (
    <>
      <label>
        <span class="hidden">{say('frame.language')}</span>
        <select
          value={reader.value.language}
          onChange={({ currentTarget }) => void choose(currentTarget.value as Language)}
        >
          {LANGUAGES.map((one) => (
            <option key={one} value={one} lang={TAGS[one]}>
              {NAMES[one]}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="hidden">{say('frame.colours')}</span>
        <select value={theme.value} onChange={({ currentTarget }) => (theme.value = currentTarget.value as Theme)}>
          {THEMES.map((one) => (
            <option key={one} value={one}>
              {say(`theme.${one}`)}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

function Who({ caller: { name, role, scopes, teams } }: { readonly caller: SignedIn }): JSX.Element {
  const rights = joined([
    role === null ? scopes.join(' ') : code('role', role),
    teams === null ? null : teams.length === 1 ? (teams[0] ?? null) : say('count.teams', { n: teams.length }),
  ]);
  return (
    <a class="note" href={link('sessions')} aria-current={place.value.page === 'sessions' ? 'page' : undefined}>
      {say('frame.who', { name, rights })}
    </a>
  );
}

function draw(at: Place): JSX.Element {
  const route = routeOf(at);
  if (route === null)
    return (
      <Page title={say('frame.no-page')}>
        <Empty>
          {say('frame.no-page-text')} <a href={link('')}>{say('frame.to-overview')}</a>
        </Empty>
      </Page>
    );
  if (route === 'sign-in') return <Overview />;
  const team = at.query.get('team') ?? '';
  return (
    <>
      {team === '' ? null : <NoTeam key={team} id={team} />}
      {PAGES[route].draw(at.id)}
    </>
  );
}

/** Says of a team in the address that there is none; the page below would only be empty. */
function NoTeam({ id }: { readonly id: string }): JSX.Element | null {
  const isSeen = unseen(id) === null;
  const { trouble } = useAnswer(`is there ${id}`, async (halt) =>
    isSeen ? get<TeamAnswer>(`/v1/teams/${encodeURIComponent(id)}`, {}, halt) : null,
  );
  return trouble instanceof Trouble && trouble.status === 404 ? (
    <p class="warning" role="status">
      <Rich of="teams.none-here" given={{ id, a: (inner) => <a href={link('teams')}>{inner}</a> }} />
    </p>
  ) : null;
}

async function start(root: HTMLElement): Promise<void> {
  try {
    [session.value] = await Promise.all([get<Session>('/session'), loadTexts(reader.value.language)]);
    if (session.value.signedIn !== null) returnToPlace();
    root.replaceChildren();
    keepFocus();
    render(<App />, root);
  } catch (trouble) {
    root.replaceChildren();
    render(
      <main>
        <h1>Bursar</h1>
        <Problems trouble={trouble} />
      </main>,
      root,
    );
  }
}

const root = document.getElementById('app');
if (root !== null) void start(root);
