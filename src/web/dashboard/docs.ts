/**
 * Adds to the server's API page (/docs) a search over its operations, and a form to try each. It calls only this
 * server: with the given key, which stays on the page, or else as the signed-in user. Nothing is sent before somebody
 * presses Send.
 */
import type { Schema } from './answers.js';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema?: Schema;
}
interface Operation {
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
}
interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}
interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Blob | null;
}

const JSON_MEDIA = 'application/json';
/** Longer answers are cut. */
const MOST_CHARACTERS = 200_000;

let asked: Promise<Described> | null = null;
const description = (): Promise<Described> =>
  (asked ??= fetch('/openapi.json').then((response) => response.json() as Promise<Described>));

function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  given: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(name), given);
  made.append(...children);
  return made;
}

const labelled = (text: string, field: HTMLElement): HTMLLabelElement => element('label', {}, `${text} `, field);

const operations = (): HTMLDetailsElement[] => [...document.querySelectorAll<HTMLDetailsElement>('details.operation')];

/** Every word must occur in the operation's text. */
function search(all: readonly HTMLDetailsElement[], texts: readonly string[], words: string): number {
  const sought = words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  let found = 0;
  all.forEach((one, at) => {
    one.hidden = !sought.every((word) => texts[at]?.includes(word));
    if (!one.hidden) found += 1;
  });
  for (const section of document.querySelectorAll<HTMLElement>('section.tag'))
    section.hidden = section.querySelector('details.operation:not([hidden])') === null;
  return found;
}

function searchField(): HTMLElement {
  const all = operations();
  const texts = all.map((one) => one.querySelector('.said')?.textContent?.toLowerCase() ?? '');
  const field = element('input', { type: 'search', autocomplete: 'off' });
  const count = element('span', { role: 'status', className: 'note' });
  const narrow = (): void => {
    const found = search(all, texts, field.value);
    count.textContent = field.value.trim() === '' ? '' : `${found} of ${all.length} operations`;
  };
  field.addEventListener('input', narrow);
  return element('p', {}, labelled('Search', field), ' ', count);
}

/** The values of a form, by parameter, and its body. */
interface Inputs {
  readonly of: ReadonlyMap<Parameter, HTMLInputElement | HTMLSelectElement>;
  readonly body: HTMLTextAreaElement | HTMLInputElement | null;
}

function control({ required, schema }: Parameter): HTMLInputElement | HTMLSelectElement {
  if (schema?.enum === undefined) return element('input', { type: 'text', required, autocomplete: 'off' });
  const values = required ? schema.enum : ['', ...schema.enum];
  return element('select', {}, ...values.map((value) => element('option', { value: String(value) }, String(value))));
}

function bodyOf({ requestBody }: Operation): Inputs['body'] {
  if (requestBody === undefined) return null;
  const json = requestBody.content[JSON_MEDIA];
  if (json === undefined) return element('input', { type: 'file', required: true });
  const value = JSON.stringify(json.example ?? {}, null, 2);
  return element('textarea', { rows: Math.min(20, value.split('\n').length + 1), spellcheck: false, value });
}

function requestOf(path: string, method: string, { of, body }: Inputs, key: string): Asked {
  let url = path;
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  for (const [{ name, in: place }, { value }] of of) {
    if (place === 'path') url = url.replace(`{${name}}`, encodeURIComponent(value));
    else if (value !== '' && place === 'query') query.append(name, value);
    else if (value !== '') headers[name.toLowerCase()] = value;
  }
  if (key !== '') headers['authorization'] = `Bearer ${key}`;
  else if (method !== 'GET') headers['x-bursar-session'] = 'docs';
  const file = body instanceof HTMLInputElement ? (body.files?.[0] ?? null) : null;
  if (body instanceof HTMLTextAreaElement) headers['content-type'] = JSON_MEDIA;
  if (file !== null) headers['content-type'] = 'application/octet-stream';
  return {
    method,
    url: query.size === 0 ? url : `${url}?${query.toString()}`,
    headers,
    body: body instanceof HTMLTextAreaElement ? body.value : file,
  };
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The same as a shell command; the key stands in a variable, so that it is in no history. */
function curlOf({ method, url, headers, body }: Asked): string {
  const shown = Object.entries(headers)
    .filter(([name]) => name !== 'authorization' && name !== 'x-bursar-session')
    .map(([name, value]) => ` \\\n  -H ${quoted(`${name}: ${value}`)}`);
  const data =
    typeof body === 'string' ? ` \\\n  -d ${quoted(body)}` : body === null ? '' : ' \\\n  --data-binary @FILE';
  return `curl -X ${method} ${quoted(location.origin + url)} \\\n  -H "authorization: Bearer $KEY"${shown.join('')}${data}`;
}

async function answered(request: Asked): Promise<string> {
  const { method, url, headers, body } = request;
  const response = await fetch(url, {
    method,
    headers,
    credentials: 'same-origin',
    ...(body === null ? {} : { body }),
  });
  const media = response.headers.get('content-type') ?? '';
  const line = `${response.status} ${response.statusText} ${media}`.trim();
  if (media.startsWith('text/event-stream')) {
    await response.body?.cancel();
    return `${line}\n\nA stream of events: follow it with curl -N.`;
  }
  if (!/json|text|xml|csv/.test(media)) return `${line}\n\n${(await response.blob()).size} bytes`;
  const text = await response.text();
  const shown = /json$|json;/.test(media) ? JSON.stringify(JSON.parse(text), null, 2) : text;
  return `${line}\n\n${shown.length > MOST_CHARACTERS ? `${shown.slice(0, MOST_CHARACTERS)}\n…` : shown}`;
}

function formFor(details: HTMLDetailsElement, operation: Operation, key: HTMLInputElement): HTMLElement {
  const { path = '', method = 'GET' } = details.dataset;
  const of = new Map(operation.parameters.map((parameter) => [parameter, control(parameter)] as const));
  const inputs: Inputs = { of, body: bodyOf(operation) };
  const out = element('pre', { className: 'answer', tabIndex: 0 });
  out.setAttribute('role', 'region');
  out.setAttribute('aria-label', 'Answer');
  const said = element('p', { role: 'status', className: 'note' });
  const form = element(
    'form',
    { className: 'try' },
    element('h3', {}, 'Try it'),
    ...[...of].map(([{ name, in: place, required }, one]) =>
      labelled(`${name} (${place}${required ? ', required' : ''})`, one),
    ),
    ...(inputs.body === null ? [] : [labelled('Body', inputs.body)]),
    element(
      'p',
      {},
      element('button', { type: 'submit' }, 'Send'),
      ' ',
      element('span', { className: 'note' }, method === 'GET' ? '' : 'It is carried out on this server.'),
    ),
    said,
    out,
  );
  const show = async (request: Asked): Promise<void> => {
    const text = await answered(request).catch(
      (error: unknown) => `Nothing came back: ${error instanceof Error ? error.message : String(error)}`,
    );
    said.textContent = 'Answered.';
    out.textContent = `${curlOf(request)}\n\n${text}`;
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const request = requestOf(path, method, inputs, key.value.trim());
    said.textContent = 'Asked …';
    void show(request);
  });
  return form;
}

/** A form is made when its operation is opened for the first time. */
async function offer(details: HTMLDetailsElement, key: HTMLInputElement): Promise<void> {
  const { paths } = await description();
  const { path = '', method = '' } = details.dataset;
  const operation = paths[path]?.[method.toLowerCase()];
  if (operation !== undefined) details.append(formFor(details, operation, key));
}

const key = element('input', { type: 'password', autocomplete: 'off' });
document
  .getElementById('tools')
  ?.append(
    searchField(),
    element(
      'p',
      {},
      labelled('API key to try with', key),
      ' ',
      element(
        'span',
        { className: 'note' },
        'Without one you are who is signed in to the dashboard here. It is kept nowhere.',
      ),
    ),
  );
for (const details of operations()) details.addEventListener('toggle', () => void offer(details, key), { once: true });
