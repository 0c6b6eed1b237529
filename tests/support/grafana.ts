/** The dashboards of deploy/grafana, and what they ask Prometheus. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './source.js';

const FOLDER = path.join(ROOT, 'deploy/grafana');

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly targets?: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly datasource: { readonly uid: string };
  }[];
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly id: null;
  readonly schemaVersion: number;
  readonly panels: readonly Panel[];
  readonly links: readonly { readonly url: string }[];
  readonly templating: {
    readonly list: readonly {
      readonly name: string;
      readonly type: string;
      readonly query: string | { readonly query: string };
      readonly definition?: string;
    }[];
  };
}

/** By file name. */
export function dashboards(): Map<string, Dashboard> {
  const files = readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .sort();
  return new Map(files.map((name) => [name, JSON.parse(readFileSync(path.join(FOLDER, name), 'utf8')) as Dashboard]));
}

/** What a panel asks, with the dashboard's variables as Grafana would fill them in where everything is chosen. */
export const filledIn = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '5m').replace(/\$\{?\w+\}?/g, '.*');

export const expressions = (dashboard: Dashboard): string[] =>
  dashboard.panels.flatMap(({ targets }) => (targets ?? []).map(({ expr }) => expr));

/** Names of metrics in an expression or a query of a variable. */
export const metricsIn = (text: string): string[] => [...new Set(text.match(/\b(?:bursar|process|nodejs)_\w+/g))];

/** The selectors of the variables that are asked of Prometheus: `label_values(SELECTOR, label)`. */
export const variableQueries = ({ templating }: Dashboard): { readonly selector: string; readonly label: string }[] =>
  templating.list
    .filter(({ type }) => type === 'query')
    .map(({ query }) => {
      const [, selector, label] =
        /^label_values\((.+), (\w+)\)$/.exec(typeof query === 'string' ? query : query.query) ?? [];
      if (selector === undefined || label === undefined)
        throw new Error(`not a query of a variable: ${JSON.stringify(query)}`);
      return { selector, label };
    });
