/** The numbers of health findings: the English words of each name, and its unit. */
import type { Figure } from '../figures.js';

export const HEALTH_FIGURES = {
  meanUtilisationRatio: { words: 'Mean utilisation', unit: 'share' },
  aboveRatio: { words: 'Counts as busy above', unit: 'share' },
  belowRatio: { words: 'Counts as little used below', unit: 'share' },
  readings: { words: 'Readings', unit: 'reading' },
  minutes: { words: 'Minutes measured', unit: 'minute' },
  temperatureCelsius: { words: 'Temperature (°C)', unit: '°C' },
  fromCelsius: { words: 'Counts as hot from (°C)', unit: '°C' },
  replaysMore: { words: 'New PCIe replays', unit: 'replay' },
  replaysNow: { words: 'PCIe replays in all', unit: 'replay' },
  resets: { words: 'Restarts of the counter', unit: 'restart' },
  missingSeconds: { words: 'Seconds without the card', unit: 'second' },
  silentSeconds: { words: 'Seconds of silence', unit: 'second' },
  failedScrapes: { words: 'Failed scrapes', unit: 'scrape' },
  otherTargetsSilent: { words: 'Other targets that are silent', unit: 'target' },
  latencySeconds: { words: 'Latency in seconds', unit: 'second' },
  aboveSeconds: { words: 'Counts as slow above (seconds)', unit: 'second' },
} as const satisfies Readonly<Record<string, Figure>>;

export type HealthNumbers = Readonly<Partial<Record<keyof typeof HEALTH_FIGURES, number>>>;
