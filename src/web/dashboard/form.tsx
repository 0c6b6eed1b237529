/**
 * A form made from a JSON Schema, such as that of a policy's parameters. An empty field has the schema's default; the
 * server checks the values. It never drops a value that it cannot show: people edit that one as JSON.
 */
import type { ComponentChildren, JSX } from 'preact';
import { createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';
import type { Schema } from './answers.js';
import { Described, Named } from './described.js';
import { choiceOf } from './field-values.js';
import { inWords, named } from './field-words.js';
import { within } from './format.js';
import { joined, say } from './language.js';
import { Field } from './ui.js';

interface Props {
  readonly name: string;
  readonly schema: Schema;
  readonly value: unknown;
  readonly onSet: (value: unknown) => void;
  /** Whether it may be left out: an optional group without values is folded. */
  readonly isOptional?: boolean;
}

type Values = Readonly<Record<string, unknown>>;
const isValues = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The schema itself, or the one that is not null; whether nothing is a value too. */
function plain(schema: Schema): { readonly schema: Schema; readonly takesNull: boolean } {
  if (Array.isArray(schema.type)) {
    const types = schema.type as readonly Schema['type'][];
    const type = types.find((one) => one !== 'null');
    return { schema: { ...schema, ...(type === undefined ? {} : { type }) }, takesNull: types.includes('null') };
  }
  const others = schema.anyOf?.filter(({ type }) => type !== 'null');
  const only = others?.length === 1 ? others[0] : undefined;
  return only === undefined
    ? { schema, takesNull: false }
    : {
        schema: {
          ...only,
          ...(schema.description === undefined ? {} : { description: schema.description }),
          ...('default' in schema ? { default: schema.default } : {}),
        },
        takesNull: true,
      };
}

const boundsOf = ({ minimum, exclusiveMinimum, maximum }: Schema): string | null => {
  const from =
    minimum !== undefined
      ? say('form.from', { n: String(minimum) })
      : exclusiveMinimum !== undefined
        ? say('form.above', { n: String(exclusiveMinimum) })
        : null;
  const to = maximum === undefined ? null : say('form.to', { n: String(maximum) });
  return [from, to].filter((one) => one !== null).join(' ') || null;
};

/** A field's text from the schema: bounds, default and format. */
function noteOf(name: string, schema: Schema, how: string | null = null): ComponentChildren {
  const standard = inWords(schema.default, name);
  const rest = joined([boundsOf(schema), standard === '' ? null : say('form.default-is', { value: standard }), how]);
  if (schema.description === undefined) return rest;
  return (
    <>
      <Described text={schema.description} />
      {rest === '' ? null : say('form.rest', { rest })}
    </>
  );
}

/** A parameter of any kind. An undefined value is the default. */
function Parameter(props: Props): JSX.Element {
  const { schema } = plain(props.schema);
  const given = { ...props, schema };
  if (schema.type === 'boolean') return <YesNo {...given} />;
  if (schema.enum !== undefined) return <Choice {...given} />;
  if (schema.anyOf !== undefined && choicesOf(schema).length > 1) return <Variant {...given} />;
  if (schema.type === 'number' || schema.type === 'integer') return <Numeric {...given} />;
  if (schema.type === 'string') return schema.format === 'date-time' ? <Time {...given} /> : <Words {...given} />;
  if (schema.type === 'object' && schema.properties !== undefined) return <Group {...given} />;
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object') return <Entries {...given} />;
  if (schema.type === 'array' && schema.items?.enum !== undefined) return <Several {...given} />;
  if (schema.type === 'array' && schema.items?.type === 'string') return <Lines {...given} />;
  if (schema.type === 'array' && (schema.items?.type === 'object' || schema.items?.anyOf !== undefined))
    return <Rows {...given} />;
  return <AsJson {...given} />;
}

function YesNo({ name, schema, value, onSet }: Props): JSX.Element {
  const text = value === undefined ? '' : String(value);
  return (
    <Field label={<Named name={name} />} note={noteOf(name, schema)}>
      {(ids) => (
        <select
          {...ids}
          value={text}
          onChange={({ currentTarget: { value: chosen } }) => onSet(chosen === '' ? undefined : chosen === 'true')}
        >
          <option value="">{say('form.default')}</option>
          <option value="true">{say('yes')}</option>
          <option value="false">{say('no')}</option>
        </select>
      )}
    </Field>
  );
}

function Choice({ name, schema, value, onSet }: Props): JSX.Element {
  return (
    <Field label={<Named name={name} />} note={noteOf(name, schema)}>
      {(ids) => (
        <select
          {...ids}
          value={value === undefined ? '' : String(value)}
          onChange={({ currentTarget: { value: chosen } }) => onSet(chosen === '' ? undefined : chosen)}
        >
          <option value="">{say('form.default')}</option>
          {schema.enum?.map((one) => (
            <option key={one} value={one}>
              {choiceOf(name, one)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function Numeric({ name, schema, value, onSet }: Props): JSX.Element {
  return (
    <Field label={<Named name={name} />} note={noteOf(name, schema)}>
      {(ids) => (
        <input
          {...ids}
          type="number"
          inputMode="decimal"
          step={schema.type === 'integer' ? 1 : 'any'}
          min={schema.minimum}
          max={schema.maximum}
          value={value === undefined || value === null ? '' : String(value)}
          onInput={({ currentTarget: { value: text } }) => onSet(text === '' ? undefined : Number(text))}
        />
      )}
    </Field>
  );
}

function Words({ name, schema, value, onSet }: Props): JSX.Element {
  return (
    <Field label={<Named name={name} />} note={noteOf(name, schema)}>
      {(ids) => (
        <input
          {...ids}
          type="text"
          list={knownOf(name)}
          value={value === undefined || value === null ? '' : String(value)}
          onInput={({ currentTarget: { value: text } }) => onSet(text === '' ? undefined : text)}
        />
      )}
    </Field>
  );
}

function Several({ name, schema, value, onSet }: Props): JSX.Element {
  const chosen = Array.isArray(value)
    ? value.map(String)
    : Array.isArray(schema.default)
      ? schema.default.map(String)
      : [];
  const toggle = (one: string): void => {
    const next = (schema.items?.enum ?? []).filter((other) => (other === one) !== chosen.includes(other));
    onSet(next.length === 0 ? undefined : next);
  };
  return (
    <fieldset class="field">
      <legend>
        <Named name={name} />
      </legend>
      <span class="note">{noteOf(name, schema)}</span>
      {schema.items?.enum?.map((one) => (
        <label key={one} class="check">
          <input type="checkbox" checked={chosen.includes(one)} onChange={() => toggle(one)} /> {choiceOf(name, one)}
        </label>
      ))}
    </fieldset>
  );
}

function Lines({ name, schema, value, onSet }: Props): JSX.Element {
  return (
    <Field label={<Named name={name} />} note={noteOf(name, schema, say('form.lines'))}>
      {(ids) => (
        <textarea
          {...ids}
          rows={3}
          value={Array.isArray(value) ? value.join('\n') : ''}
          onInput={({ currentTarget: { value: text } }) => {
            const lines = text.split('\n').filter((line) => line.trim() !== '');
            onSet(lines.length === 0 ? undefined : text.split('\n'));
          }}
        />
      )}
    </Field>
  );
}

/** The fields of an object. A field that is unset is left out. */
function Group({ name, schema, value, onSet, isOptional }: Props): JSX.Element {
  // Open at first where something is set; later as people leave it.
  const [isFolded] = useState(isOptional === true && Object.keys(isValues(value) ? value : {}).length === 0);
  if (isFolded)
    return (
      <details class="group">
        <summary>
          <Named name={name} />
        </summary>
        {schema.description === undefined ? null : (
          <span class="note">
            <Described text={schema.description} />
          </span>
        )}
        <Fields schema={schema} value={value} onSet={onSet} />
      </details>
    );
  return (
    <fieldset class="group">
      <legend>
        <Named name={name} />
      </legend>
      {schema.description === undefined ? null : (
        <span class="note">
          <Described text={schema.description} />
        </span>
      )}
      <Fields schema={schema} value={value} onSet={onSet} />
    </fieldset>
  );
}

/** Whether the forms below are only to be looked at, because their reader may not save them. */
export const ReadOnly = createContext(false);

/** The fields of a form or of an object in it; nothing can be typed, added or removed where it is only looked at. */
export function Fields(props: Omit<Props, 'name'>): JSX.Element {
  return useContext(ReadOnly) ? (
    <fieldset class="read-only" disabled>
      <FieldsOf {...props} />
    </fieldset>
  ) : (
    <FieldsOf {...props} />
  );
}

function FieldsOf({ schema, value, onSet }: Omit<Props, 'name'>): JSX.Element {
  const values = isValues(value) ? value : {};
  const set = (field: string, next: unknown): void => {
    const { [field]: _, ...rest } = values;
    const all = next === undefined ? rest : { ...rest, [field]: next };
    onSet(Object.keys(all).length === 0 ? undefined : all);
  };
  return (
    <>
      {Object.entries(schema.properties ?? {}).map(([field, of]) =>
        of.const !== undefined ? null : (
          <Parameter
            key={field}
            name={field}
            schema={of}
            value={values[field]}
            onSet={(next) => set(field, next)}
            isOptional={schema.required?.includes(field) !== true}
          />
        ),
      )}
    </>
  );
}

function Rows({ name, schema, value, onSet }: Props): JSX.Element {
  const rows: readonly unknown[] = Array.isArray(value) ? value : Array.isArray(schema.default) ? schema.default : [];
  const put = (next: readonly unknown[]): void => onSet(next);
  return (
    <fieldset class="group">
      <legend>
        <Named name={name} />
      </legend>
      {schema.description === undefined ? null : (
        <span class="note">
          <Described text={schema.description} />
        </span>
      )}
      {rows.map((row, at) => (
        <fieldset key={at} class="group row">
          <legend>
            <Named name={name} /> {at + 1}
          </legend>
          <Inner
            schema={schema.items ?? {}}
            value={row}
            onSet={(next) => put(rows.map((other, n) => (n === at ? (next ?? {}) : other)))}
          />
          <button type="button" class="quiet" onClick={() => put(rows.filter((_, n) => n !== at))}>
            {say('form.remove', { name: within(named(name)), n: at + 1 })}
          </button>
        </fieldset>
      ))}
      <button type="button" onClick={() => put([...rows, {}])}>
        {say('form.add', { name: within(named(name)) })}
      </button>
    </fieldset>
  );
}

/** An item of a list: its fields, or the choice between kinds of it. */
export const Inner = (props: Omit<Props, 'name'>): JSX.Element =>
  props.schema.anyOf === undefined ? <Fields {...props} /> : <Kinds {...props} name={say('field.kind')} />;

/** Values by a name that people give: one name a row. */
function Entries({ name, schema, value, onSet }: Props): JSX.Element {
  const of = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
  // Half-written names may be equal for a moment: none is lost then.
  const [rows, setRows] = useState<readonly (readonly [string, unknown])[]>(
    Object.entries(isValues(value) ? value : {}),
  );
  const put = (next: readonly (readonly [string, unknown])[]): void => {
    setRows(next);
    const whole = next.filter(([key, inner]) => key !== '' && inner !== undefined);
    onSet(whole.length === 0 ? undefined : Object.fromEntries(whole));
  };
  const change = (at: number, row: readonly [string, unknown]): void =>
    put(rows.map((other, n) => (n === at ? row : other)));
  return (
    <fieldset class="group">
      <legend>
        <Named name={name} />
      </legend>
      <span class="note">{noteOf(name, schema)}</span>
      {rows.map(([key, inner], at) => (
        <fieldset key={at} class="group row">
          <legend>
            <Named name={name} /> {at + 1}
          </legend>
          <Field label={say('form.name')}>
            {(ids) => (
              <input
                {...ids}
                type="text"
                list={knownOf(name)}
                value={key}
                onInput={({ currentTarget }) => change(at, [currentTarget.value, inner])}
              />
            )}
          </Field>
          <Parameter name={say('form.value')} schema={of} value={inner} onSet={(next) => change(at, [key, next])} />
          <button type="button" class="quiet" onClick={() => put(rows.filter((_, n) => n !== at))}>
            {say('form.remove', { name: within(named(name)), n: at + 1 })}
          </button>
        </fieldset>
      ))}
      <button type="button" onClick={() => put([...rows, ['', of.type === 'object' ? {} : undefined]])}>
        {say('form.add', { name: within(named(name)) })}
      </button>
    </fieldset>
  );
}

interface Kind {
  readonly name: string;
  /** As people read it. */
  readonly label: string;
  /** The value set when it is chosen. */
  readonly first: unknown;
  /** Null: the value has no fields. */
  readonly schema: Schema | null;
}

/** The kinds of value that a schema offers: each word of an enumeration, and each kind of object. */
function choicesOf({ anyOf = [] }: Schema, of = ''): Kind[] {
  const common = new Set(
    Object.keys(anyOf[0]?.properties ?? {}).filter((field) => anyOf.every(({ properties }) => properties?.[field])),
  );
  return anyOf.flatMap((one): Kind[] => {
    if (one.type === 'null') return [];
    if (one.enum !== undefined)
      return one.enum.map((word) => ({ name: word, label: choiceOf(of, word), first: word, schema: null }));
    const fixed = Object.entries(one.properties ?? {}).filter(([, { const: only }]) => only !== undefined);
    const own = Object.keys(one.properties ?? {}).filter((field) => !common.has(field));
    const [by, only] = fixed[0] ?? ['', null];
    const name = only === null ? own.join(', ') : String(only.const);
    const label = only === null ? own.map(named).join(say('list.comma')) : choiceOf(by, only.const);
    return one.properties === undefined
      ? []
      : [{ name, label, first: Object.fromEntries(fixed.map(([field, kept]) => [field, kept.const])), schema: one }];
  });
}

/** Which of the kinds a value is; -1: none of them. */
const kindOf = (kinds: readonly Kind[], value: unknown): number =>
  kinds.findIndex(({ first, schema }) =>
    schema === null
      ? first === value
      : isValues(value) &&
        Object.entries(isValues(first) ? first : {}).every(([field, fixed]) => value[field] === fixed) &&
        Object.keys(value).every((field) => schema.properties?.[field] !== undefined),
  );

function Variant(props: Props): JSX.Element {
  return (
    <fieldset class="group">
      <legend>
        <Named name={props.name} />
      </legend>
      <span class="note">{noteOf(props.name, props.schema)}</span>
      <Kinds {...props} name={say('field.kind')} field={props.name} />
    </fieldset>
  );
}

/** A choice between kinds of a value, and the fields of the one that is chosen. */
function Kinds({ name, field, schema, value, onSet }: Props & { readonly field?: string }): JSX.Element {
  const kinds = choicesOf(schema, field);
  const [chosen, setChosen] = useState(() => kindOf(kinds, value ?? schema.default));
  const pick = (at: number): void => {
    setChosen(at);
    const kind = kinds[at];
    const fits = isValues(value) && isValues(kind?.first) ? kept(value, kind.schema) : {};
    onSet(kind === undefined ? undefined : kind.schema === null ? kind.first : { ...fits, ...(kind.first as Values) });
  };
  const of = kinds[chosen]?.schema ?? null;
  return (
    <>
      <Field label={name}>
        {(ids) => (
          <select {...ids} value={String(chosen)} onChange={({ currentTarget }) => pick(Number(currentTarget.value))}>
            {chosen === -1 ? <option value="-1">–</option> : null}
            {kinds.map((kind, at) => (
              <option key={kind.name} value={String(at)}>
                {kind.label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {of === null ? null : <Fields schema={of} value={value} onSet={onSet} />}
    </>
  );
}

/** The fields of a value that another kind has too. */
const kept = (value: Values, schema: Schema | null): Values =>
  Object.fromEntries(Object.entries(value).filter(([field]) => schema?.properties?.[field] !== undefined));

/** An instant, in the writer's time zone. */
function Time({ name, schema, value, onSet }: Props): JSX.Element {
  const at = typeof value === 'string' ? new Date(value) : null;
  const local = at === null ? '' : new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  return (
    <Field label={<Named name={name} />} note={noteOf(name, schema, say('form.clock'))}>
      {(ids) => (
        <input
          {...ids}
          type="datetime-local"
          value={local}
          onInput={({ currentTarget: { value: text } }) =>
            onSet(text === '' ? undefined : new Date(text).toISOString())
          }
        />
      )}
    </Field>
  );
}

/** Lists of known values, by the names of fields that take one of them; the page that shows a form draws them. */
export const KNOWN = ['team', 'zone'] as const;
const KNOWN_BY: Readonly<Record<string, (typeof KNOWN)[number]>> = {
  team: 'team',
  teams: 'team',
  parent: 'team',
  shares: 'team',
  zone: 'zone',
};
const knownOf = (name: string): string | undefined =>
  KNOWN_BY[name] === undefined ? undefined : `known-${KNOWN_BY[name]}`;

function AsJson({ name, schema, value, onSet }: Props): JSX.Element {
  const read = (text: string): void => {
    try {
      onSet(text.trim() === '' ? undefined : (JSON.parse(text) as unknown));
    } catch {
      // Half-written JSON: the value stays until the text can be parsed.
    }
  };
  return (
    <Field label={<Named name={name} />} note={noteOf(name, schema, say('form.json'))}>
      {(ids) => (
        <textarea
          {...ids}
          rows={3}
          defaultValue={value === undefined ? '' : JSON.stringify(value)}
          onInput={({ currentTarget }) => read(currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** Lists of texts without blank lines left from editing. */
export function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((one) => typeof one !== 'string' || one.trim() !== '').map(tidy);
  return isValues(value)
    ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, tidy(inner)]))
    : value;
}
