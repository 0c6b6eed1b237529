/** The small parts that every page is made of. Each says in words what its colour says, and works from the keyboard. */
import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Trouble, unseen } from './api.js';
import type { UnpricedUsage } from './answers.js';
import { decimal, instant, money, sentence, unknown } from './format.js';
import { Fresh } from './fresh.js';
import type { HelpTerm } from './help-terms.js';
import { Help } from './help.js';
import { inReadersWords, reader, say } from './language.js';
import type { Loaded } from './loading.js';
import { Rich } from './rich.js';
import { link } from './routes.js';

type Children = { readonly children: ComponentChildren };

/** Whether a page was open before. */
let hasOpened = false;

/** Whether an element takes what is typed. */
export const isWriting = (element: Element | null): boolean =>
  element instanceof HTMLElement && (element.isContentEditable || element.matches('input, textarea, select'));

/**
 * A page's head and body. The heading takes the focus when the page opens, so that a screen reader says where one is.
 */
export function Page({
  title,
  lead,
  actions,
  children,
}: Children & {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly actions?: ComponentChildren;
}): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  const { language } = reader.value;
  const drawnIn = useRef(language);
  // In the same moment as the page appears: later, the focus would be taken from who has begun to write elsewhere.
  useLayoutEffect(() => {
    document.title = `${title} · Bursar`;
    const isOtherLanguage = drawnIn.current !== language;
    drawnIn.current = language;
    // Whoever changes the language stays at the switch.
    if (isOtherLanguage) return;
    // Not on the first page of a visit: there the reader begins at the top.
    if (hasOpened && !isWriting(document.activeElement)) heading.current?.focus();
    hasOpened = true;
  }, [title]);
  return (
    <>
      <div class="head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <div class="side">
          {actions}
          <Fresh />
        </div>
      </div>
      {lead === undefined ? null : <p class="lead">{lead}</p>}
      {children}
    </>
  );
}

export function Card({
  title,
  actions,
  children,
  wide = false,
  terms = [],
}: Children & {
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly wide?: boolean;
  /** What is explained beside the title. */
  readonly terms?: readonly HelpTerm[];
}): JSX.Element {
  const id = useId();
  return (
    <section class={wide ? 'card wide' : 'card'} aria-labelledby={id}>
      <div class="head">
        <div class="titled">
          <h2 id={id}>{title}</h2>
          {terms.length === 0 ? null : <Help of={terms} />}
        </div>
        {actions}
      </div>
      {children}
    </section>
  );
}

/** One figure with its name; what is beside it is smaller. */
export function Figure({
  name,
  value,
  note,
}: {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly note?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>
        <span class="value">{value}</span>
        {note === undefined ? null : <span class="note">{note}</span>}
      </dd>
    </div>
  );
}

/**
 * Everything that the server said was wrong.
 * @param nameOf a field as the form calls it; absent: as the API does
 */
export function Problems({
  trouble,
  nameOf,
}: {
  readonly trouble: unknown;
  readonly nameOf?: (path: string) => string;
}): JSX.Element | null {
  if (trouble === null || trouble === undefined) return null;
  const message = trouble instanceof Error ? trouble.message : String(trouble);
  const { problems, requestId } = trouble instanceof Trouble ? trouble : { problems: [], requestId: null };
  const isTheirs = trouble instanceof Trouble && trouble.status > 0;
  return (
    <div class="problems" role="alert">
      <p>
        <strong>{say('problem')}</strong> {isTheirs ? <AsWritten>{message}</AsWritten> : message}
      </p>
      {problems.length === 0 ? null : (
        <ul>
          {problems.map(({ path, message: what }, at) => (
            <li key={at}>
              {path === null ? null : <>{nameOf === undefined ? <code>{path}</code> : <b>{nameOf(path)}</b>} </>}
              <AsWritten>{what}</AsWritten>
            </li>
          ))}
        </ul>
      )}
      {requestId === null ? null : <p class="note">{say('problem.request', { id: requestId })}</p>}
    </div>
  );
}

/** Nothing is there, and what to do about it. */
export const Empty = ({ children }: Children): JSX.Element => <p class="empty">{children}</p>;

/** Something that its reader may not see: why, and who can change that. */
export const Unseen = ({ why }: { readonly why: string }): JSX.Element => <Empty>{say('refused.see', { why })}</Empty>;

/** Where an answer will stand, until it is there. */
const Skeleton = (): JSX.Element => (
  <div class="skeleton" role="status">
    <span class="hidden">{say('loading')}</span>
    <span />
    <span />
    <span />
  </div>
);

/** Draws an answer when it is there; until then says that it loads. */
export function Show<T>({
  loaded,
  children,
}: {
  readonly loaded: Loaded<T>;
  readonly children: (data: T) => ComponentChildren;
}): JSX.Element {
  const { data, trouble, isLoading, again } = loaded;
  // What is not theirs to see is no fault, and asking again does not help.
  const why = trouble instanceof Trouble && trouble.status === 403 ? unseen(null) : null;
  if (why !== null) return <Unseen why={why} />;
  if (trouble instanceof Trouble && trouble.status === 404 && data === null)
    return (
      <Empty>
        <AsWritten>{sentence(trouble.message)}</AsWritten>
        {say('sentence.end')}
      </Empty>
    );
  return (
    <div class="show" aria-busy={isLoading}>
      {trouble === null ? null : (
        <>
          <Problems trouble={trouble} />
          <button type="button" onClick={again}>
            {say('again')}
          </button>
        </>
      )}
      {data !== null ? children(data) : isLoading ? <Skeleton /> : null}
    </div>
  );
}

/** An amount of money; its exact digits are its title. */
export function Amount({
  amount,
  currency,
  whole = false,
}: {
  readonly amount: string | null;
  readonly currency: string;
  readonly whole?: boolean;
}): JSX.Element {
  if (amount === null) return <span class="unknown">{unknown()}</span>;
  return (
    <span class="amount" title={`${amount} ${currency}`}>
      {money(amount, currency, whole)}
    </span>
  );
}

/** Several currencies side by side: they are never added. */
export function Amounts({
  amounts,
}: {
  readonly amounts: readonly { readonly currency: string; readonly amount: string }[];
}): JSX.Element {
  if (amounts.length === 0) return <span class="quiet">{say('none')}</span>;
  return (
    <>
      {amounts.map(({ currency, amount }) => (
        <div key={currency}>
          <Amount amount={amount} currency={currency} />
        </div>
      ))}
    </>
  );
}

export const Instant = ({ at }: { readonly at: string | null }): JSX.Element =>
  at === null ? <span class="unknown">{unknown()}</span> : <time dateTime={at}>{instant(at)}</time>;

/**
 * What somebody else wrote, in the reader's language where the server makes such sentences; else in English: a screen
 * reader says it so, whatever the language around it.
 */
export function AsWritten({ children }: Children): JSX.Element {
  const text = typeof children === 'string' ? inReadersWords(children) : null;
  return text === null ? <span lang="en">{children}</span> : <>{text}</>;
}

/** What the server says to know before its sums are relied on. */
export const Warnings = ({ lines }: { readonly lines: readonly string[] }): JSX.Element => (
  <>
    {lines.map((line) => (
      <p class="warning" key={line}>
        <AsWritten>{`${sentence(line)}.`}</AsWritten>
      </p>
    ))}
  </>
);

/** What open bills state and meters stand for: in no figure beside it. */
export const SetAside = ({
  amounts,
}: {
  readonly amounts: readonly { readonly currency: string; readonly amount: string }[];
}): JSX.Element => (
  <>
    {amounts.map(({ currency, amount }) => (
      <p class="warning" key={currency}>
        {say('set-aside', { amount: money(amount, currency) })}
      </p>
    ))}
  </>
);

/** Storage, traffic or what has no quantity, without a price. */
export const unpricedLine = ({ provider, sku, component, quantity, hours }: UnpricedUsage): string => {
  const what = `${provider} ${sku ?? say('not-known')}`;
  if (quantity === null) return say('gaps.unmeasured', { what, n: hours });
  return say(component === 'network' ? 'gaps.traffic' : 'gaps.storage', { quantity: decimal(quantity), what });
};

/** What of it is in no figure beside it. */
export const UnpricedUses = ({ usage }: { readonly usage: readonly UnpricedUsage[] }): JSX.Element => (
  <>
    {usage.map((one) => (
      <p class="warning" key={`${one.provider} ${one.sku ?? ''} ${one.component}`}>
        {say('unpriced-usage', { what: unpricedLine(one) })}
      </p>
    ))}
  </>
);

export const Unpriced = ({ gpuHours }: { readonly gpuHours: string }): JSX.Element | null =>
  Number(gpuHours) === 0 ? null : (
    <p class="warning">
      <Rich of="unpriced" given={{ hours: decimal(gpuHours), a: (inner) => <a href={link('imports')}>{inner}</a> }} />
    </p>
  );

export type Tone = 'plain' | 'good' | 'warn' | 'bad';
export const Badge = ({ tone = 'plain', children }: Children & { readonly tone?: Tone }): JSX.Element => (
  <span class={`badge ${tone}`}>{children}</span>
);

/**
 * Whether nothing in a form is half typed; the first field that is says so. A date without its time has no value: it is
 * not to be taken as if nothing stood there.
 */
export const isWhole = (form: HTMLFormElement | null): boolean =>
  ([...(form?.elements ?? [])] as HTMLInputElement[]).find(({ validity }) => validity?.badInput)?.reportValidity() ??
  true;

/**
 * A form. Enter in one of its fields sends it, as its button does: the `Act` in it that has no `onAct`. A key that is
 * held sends it once. What is half typed is not sent. What else is wrong the server says.
 */
export const Form = ({
  onSend,
  ...rest
}: JSX.IntrinsicElements['form'] & { readonly onSend: () => void }): JSX.Element => (
  <form
    {...rest}
    noValidate
    onKeyDown={(event) =>
      event.repeat && event.key === 'Enter' && !(event.target instanceof HTMLTextAreaElement) && event.preventDefault()
    }
    onSubmit={(event) => {
      event.preventDefault();
      if (isWhole(event.currentTarget)) onSend();
    }}
  />
);

/**
 * A button that says why it cannot be pressed. It stays in the order of focus, so that the reason can be read. While
 * something in its form is half typed, it does nothing.
 */
export function Act({
  refused = null,
  isBusy = false,
  onAct,
  children,
  tone,
}: Children & {
  readonly refused?: string | null;
  readonly isBusy?: boolean;
  /** Absent: it sends the form that it stands in. */
  readonly onAct?: (() => void) | undefined;
  readonly tone?: 'primary' | 'danger';
}): JSX.Element {
  const id = useId();
  const off = refused !== null || isBusy;
  return (
    <span class="act">
      <button
        type={onAct === undefined ? 'submit' : 'button'}
        class={tone ?? ''}
        aria-disabled={off}
        aria-describedby={refused === null ? undefined : id}
        onClick={(event) => {
          if (off) event.preventDefault();
          else if (onAct !== undefined && isWhole(event.currentTarget.form)) onAct();
        }}
      >
        {children}
        {isBusy ? ' …' : ''}
      </button>
      {refused === null ? null : (
        <span id={id} class="note">
          {refused}
        </span>
      )}
    </span>
  );
}

/** A label, its field, and what the field is for. */
export function Field({
  label,
  note,
  children,
}: {
  readonly label: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly children: (ids: {
    readonly id: string;
    readonly 'aria-describedby': string | undefined;
  }) => ComponentChildren;
}): JSX.Element {
  const id = useId();
  const noteId = `${id}-note`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': note === undefined ? undefined : noteId })}
      {note === undefined ? null : (
        <span id={noteId} class="note">
          {note}
        </span>
      )}
    </div>
  );
}

/**
 * A day: picked in the calendar at once; one that is typed, only when its field is left or Enter is pressed. One that
 * is half typed is no day, and not none either: the field says so, and holds the focus once.
 */
export function Day({
  label,
  value,
  onPick,
  ...ends
}: {
  readonly label: string;
  readonly value: string;
  /** Empty as absent: any day. */
  readonly min?: string;
  readonly max?: string;
  readonly onPick: (day: string) => void;
}): JSX.Element {
  // Null: nothing was typed.
  const [typed, setTyped] = useState<string | null>(null);
  const hasSaid = useRef(false);
  const take = (field: HTMLInputElement): void => {
    if (field.validity.badInput) {
      if (hasSaid.current) return;
      hasSaid.current = true;
      field.reportValidity();
      return;
    }
    if (typed !== null && typed !== value) onPick(typed);
    setTyped(null);
  };
  return (
    <Field label={label}>
      {(ids) => (
        <input
          {...ids}
          {...ends}
          type="date"
          value={typed ?? value}
          onKeyDown={({ key, currentTarget }) => {
            // Whoever goes on to the next field after that is let go.
            if (key !== 'Tab' && key !== 'Shift') hasSaid.current = false;
            if (key === 'Enter') take(currentTarget);
            else setTyped(currentTarget.value);
          }}
          onChange={({ currentTarget }) => (typed === null ? onPick : setTyped)(currentTarget.value)}
          onBlur={({ currentTarget }) => take(currentTarget)}
        />
      )}
    </Field>
  );
}

export function Select({
  label,
  value,
  options,
  onPick,
}: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, name: string])[];
  readonly onPick: (value: string) => void;
}): JSX.Element {
  return (
    <Field label={label}>
      {(ids) => (
        <select {...ids} value={value} onChange={(event) => onPick(event.currentTarget.value)}>
          {options.map(([one, name]) => (
            <option key={one} value={one}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Chooses one of the values, or all of them. */
export const Filter = ({ options, ...select }: Parameters<typeof Select>[0]): JSX.Element => (
  <Select {...select} options={[['', say('all')], ...options]} />
);

/** Said by a screen reader when it changes, and seen by everybody. */
export const Said = ({ children }: Children): JSX.Element => (
  <p class="said" role="status" aria-live="polite">
    {children}
  </p>
);

/** Numbers and words by name. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
}): JSX.Element {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** How much of a plan is spent, and where the forecast ends; the words beside it say the same. */
export function Burn({
  spent,
  forecast,
  planned,
  label,
}: {
  readonly spent: number;
  readonly forecast: number | null;
  readonly planned: number;
  readonly label: string;
}): JSX.Element {
  const most = Math.max(planned, spent, forecast ?? 0) || 1;
  const at = (value: number): string => `${(100 * value) / most}%`;
  const tone = spent > planned ? 'bad' : forecast !== null && forecast > planned ? 'warn' : 'good';
  return (
    <svg class={`burn ${tone}`} role="img" aria-label={label} width="100%" height="14">
      <rect class="track" width="100%" height="14" rx="2" />
      {forecast === null ? null : <rect class="ahead" width={at(forecast)} height="14" rx="2" />}
      <rect class="spent" width={at(spent)} height="14" rx="2" />
      <line class="plan" x1={at(planned)} x2={at(planned)} y1="0" y2="14" />
    </svg>
  );
}
