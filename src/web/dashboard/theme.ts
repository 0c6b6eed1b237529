/** Light, dark, or the system's theme. The choice is kept in this browser, like that of the language (reader.ts). */
import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
export const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

const KEY = 'bursar-theme';
const isTheme = (text: string | null): text is Theme => (THEMES as readonly (string | null)[]).includes(text);

function kept(): Theme {
  try {
    const text = localStorage.getItem(KEY);
    return isTheme(text) ? text : 'system';
  } catch {
    return 'system';
  }
}

export const theme = signal<Theme>(kept());
const system = window.matchMedia('(prefers-color-scheme: dark)');
const systemIsDark = signal(system.matches);
system.addEventListener('change', (event) => (systemIsDark.value = event.matches));

/** The current theme: pictures are drawn again when it changes. */
export const isDark = (): boolean => (theme.value === 'system' ? systemIsDark.value : theme.value === 'dark');

effect(() => {
  const chosen = theme.value;
  if (chosen === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = chosen;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // A browser that keeps nothing shows the choice until it is closed.
  }
});
