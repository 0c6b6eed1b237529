/** The dashboard's door: who is signed in, which page is open, and the frame around it. */
import { render, type JSX } from 'preact';
import { useRef } from 'preact/hooks';
import 'uplot/dist/uPlot.min.css';
import './style.css';
import type { Session } from './answers.js';
import { get, session } from './api.js';
import { words } from './format.js';
import { ActionPage, Actions } from './pages/actions.js';
import { ImportPage, Imports } from './pages/imports.js';
import { Overview } from './pages/overview.js';
import { Policies } from './pages/policies.js';
import { Recommendations } from './pages/recommendations.js';
import { SavingPage, Savings } from './pages/savings.js';
import { SignIn, SignOut } from './pages/sign-in.js';
import { Team, Teams } from './pages/teams.js';
import { place } from './router.js';
import { theme, THEMES, type Theme } from './theme.js';
import { Empty, Page, Problems } from './ui.js';

const PAGES: Readonly<Record<string, { readonly name: string; draw(id: string | null): JSX.Element }>> = {
  '': { name: 'Overview', draw: () => <Overview /> },
  teams: { name: 'Teams', draw: (id) => (id === null ? <Teams /> : <Team key={id} id={id} />) },
  recommendations: { name: 'Recommendations', draw: () => <Recommendations /> },
  actions: { name: 'Actions', draw: (id) => (id === null ? <Actions /> : <ActionPage key={id} id={id} />) },
  savings: { name: 'Savings', draw: (id) => (id === null ? <Savings /> : <SavingPage key={id} id={id} />) },
  policies: { name: 'Policies', draw: () => <Policies /> },
  imports: { name: 'Imports', draw: (id) => (id === null ? <Imports /> : <ImportPage key={id} id={id} />) },
};

function App(): JSX.Element {
  const main = useRef<HTMLElement>(null);
  const { page, id } = place.value;
  const caller = session.value?.signedIn ?? null;
  const skip = (event: Event): void => {
    event.preventDefault();
    main.current?.focus();
  };
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>Skip to the content</a>
      <header class="top">
        <a class="brand" href="#/">Bursar</a>
        {caller === null ? <span /> : <nav aria-label="Pages"><ul>{Object.entries(PAGES).map(([address, { name }]) => <li key={address}><a href={`#/${address}`} aria-current={page === address ? 'page' : undefined}>{name}</a></li>)}</ul></nav>}
        <div class="who">
          <label class="theme"><span class="hidden">Colours</span><select value={theme.value} onChange={({ currentTarget }) => (theme.value = currentTarget.value as Theme)}>{THEMES.map((one) => <option key={one} value={one}>{words(one)}</option>)}</select></label>
          {caller === null ? null : <><span class="note">{caller.name} ({caller.role}{caller.teams === null ? '' : `, ${caller.teams.length === 1 ? caller.teams[0] : `${caller.teams.length} teams`}`})</span><SignOut /></>}
        </div>
      </header>
      <main ref={main} id="main" tabIndex={-1}>{caller === null ? <SignIn /> : draw(page, id)}</main>
      <footer><a href="/docs">API</a></footer>
    </>
  );
}

function draw(page: string, id: string | null): JSX.Element {
  const found = Object.hasOwn(PAGES, page) ? PAGES[page] : undefined;
  if (found !== undefined) return found.draw(id);
  return page === 'sign-in' ? <Overview /> : <Page title="No such page"><Empty>There is no such page. <a href="#/">To the overview</a></Empty></Page>;
}

async function start(root: HTMLElement): Promise<void> {
  try {
    session.value = await get<Session>('/session');
    root.replaceChildren();
    render(<App />, root);
  } catch (trouble) {
    root.replaceChildren();
    render(<main><h1>Bursar</h1><Problems trouble={trouble} /></main>, root);
  }
}

const root = document.getElementById('app');
if (root !== null) void start(root);
