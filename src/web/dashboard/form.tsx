/**
 * A form made of a JSON Schema, as policies describe their parameters. What is left empty has the schema's default;
 * whether the values fit, the server says. It never drops a value that it cannot show: that is edited as JSON.
 */
import type { ComponentChildren, JSX } from 'preact';
import type { Schema } from './answers.js';
import { Described, named, Named } from './described.js';
import { within } from './format.js';
import { joined, say } from './language.js';
import { Field } from './ui.js';

interface Props {
  readonly name: string;
  readonly schema: Schema;
  readonly value: unknown;
  readonly onSet: (value: unknown) => void;
}

type Values = Readonly<Record<string, unknown>>;
const isValues = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The schema itself, or the one that is not null; whether nothing is a value too. */
function plain(schema: Schema): { readonly schema: Schema; readonly takesNull: boolean } {
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

/** What the schema says of a field, its bounds and default, and how it is written. */
function noteOf(schema: Schema, how: string | null = null): ComponentChildren {
  const standard =
    schema.default === undefined
      ? null
      : say('form.default-is', { value: schema.default === null ? say('none') : JSON.stringify(schema.default) });
  const rest = joined([boundsOf(schema), standard, how]);
  if (schema.description === undefined) return rest;
  return (
    <>
      <Described text={schema.description} />
      {rest === '' ? null : say('form.rest', { rest })}
    </>
  );
}

/** A parameter, whatever it is. An undefined value is the default. */
export function Parameter(props: Props): JSX.Element {
  const { schema } = plain(props.schema);
  const given = { ...props, schema };
  if (schema.type === 'boolean') return <YesNo {...given} />;
  if (schema.enum !== undefined) return <Choice {...given} />;
  if (schema.type === 'number' || schema.type === 'integer') return <Numeric {...given} />;
  if (schema.type === 'string') return <Words {...given} />;
  if (schema.type === 'object' && schema.properties !== undefined) return <Group {...given} />;
  if (schema.type === 'array' && schema.items?.enum !== undefined) return <Several {...given} />;
  if (schema.type === 'array' && schema.items?.type === 'string') return <Lines {...given} />;
  if (schema.type === 'array' && schema.items?.type === 'object') return <Rows {...given} />;
  return <AsJson {...given} />;
}

function YesNo({ name, schema, value, onSet }: Props): JSX.Element {
  const text = value === undefined ? '' : String(value);
  return (
    <Field label={<Named name={name} />} note={noteOf(schema)}>
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
    <Field label={<Named name={name} />} note={noteOf(schema)}>
      {(ids) => (
        <select
          {...ids}
          value={value === undefined ? '' : String(value)}
          onChange={({ currentTarget: { value: chosen } }) => onSet(chosen === '' ? undefined : chosen)}
        >
          <option value="">{say('form.default')}</option>
          {schema.enum?.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function Numeric({ name, schema, value, onSet }: Props): JSX.Element {
  return (
    <Field label={<Named name={name} />} note={noteOf(schema)}>
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
    <Field label={<Named name={name} />} note={noteOf(schema)}>
      {(ids) => (
        <input
          {...ids}
          type="text"
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
      <span class="note">{noteOf(schema)}</span>
      {schema.items?.enum?.map((one) => (
        <label key={one} class="check">
          <input type="checkbox" checked={chosen.includes(one)} onChange={() => toggle(one)} /> {one}
        </label>
      ))}
    </fieldset>
  );
}

function Lines({ name, schema, value, onSet }: Props): JSX.Element {
  return (
    <Field label={<Named name={name} />} note={noteOf(schema, say('form.lines'))}>
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
function Group({ name, schema, value, onSet }: Props): JSX.Element {
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

export function Fields({ schema, value, onSet }: Omit<Props, 'name'>): JSX.Element {
  const values = isValues(value) ? value : {};
  const set = (field: string, next: unknown): void => {
    const { [field]: _, ...rest } = values;
    const all = next === undefined ? rest : { ...rest, [field]: next };
    onSet(Object.keys(all).length === 0 ? undefined : all);
  };
  return (
    <>
      {Object.entries(schema.properties ?? {}).map(([field, of]) => (
        <Parameter key={field} name={field} schema={of} value={values[field]} onSet={(next) => set(field, next)} />
      ))}
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
          <Fields
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

function AsJson({ name, schema, value, onSet }: Props): JSX.Element {
  const read = (text: string): void => {
    try {
      onSet(text.trim() === '' ? undefined : (JSON.parse(text) as unknown));
    } catch {
      // Half-written JSON: the value stays what it was until it can be read.
    }
  };
  return (
    <Field label={<Named name={name} />} note={noteOf(schema, say('form.json'))}>
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

/** Lists of texts without the blank lines that were left while writing. */
export function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((one) => typeof one !== 'string' || one.trim() !== '').map(tidy);
  return isValues(value)
    ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, tidy(inner)]))
    : value;
}
