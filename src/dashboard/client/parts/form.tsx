/** Forms: labelled fields that show the API's faults, and a button that shows progress. */
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Failure } from '../api.js';
import { readAmount } from '../format.js';
import { useOnce } from '../passkey.js';
import { t } from '../texts/texts.js';
import type { Draft } from './draft.js';
import { Icon } from './icon.js';

const Faults = createContext<Failure['fields']>({});
const Drafted = createContext<Draft | null>(null);

interface FormProps {
  /** Gets the values of the fields, trimmed. The form cannot be sent again until it is done. */
  onSubmit: (values: Values) => Promise<unknown>;
  submit: string;
  isBusy: boolean;
  failure: Failure | null;
  children: ComponentChildren;
  /** Content beside the button. */
  beside?: ComponentChildren;
  /** Keeps the input until it is sent. */
  draft?: Draft;
}

export interface Values {
  /** `''` for a field that is empty or missing. */
  text(name: string): string;
  /** Null instead of `''`. */
  orNull(name: string): string | null;
  all(name: string): string[];
}

function valuesOf(form: HTMLFormElement): Values {
  const data = new FormData(form);
  const text = (name: string) => {
    const written = String(data.get(name) ?? '').trim();
    const read = amountIn(form.elements.namedItem(name));
    return read?.state === 'number' ? read.amount : written;
  };
  return { text, orNull: (name) => text(name) || null, all: (name) => data.getAll(name).map(String) };
}

/** Null where the field asks for something else than an amount. */
const amountIn = (field: Element | RadioNodeList | null) =>
  field instanceof HTMLInputElement && field.inputMode === 'decimal'
    ? readAmount(field.value, field.dataset.unit ?? '')
    : null;

/** A fault for each amount that may mean two, asked again with both. */
function doubtsIn(form: HTMLFormElement): Failure['fields'] {
  const doubts: Record<string, string> = {};
  for (const field of form.elements) {
    const read = amountIn(field);
    if (read?.state === 'ambiguous')
      doubts[(field as HTMLInputElement).name] = t('writeWholeDecimal', { whole: read.whole, decimal: read.decimal });
  }
  return doubts;
}

export function Form({ onSubmit, submit, isBusy, failure, children, beside, draft }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [faults, setFaults] = useState<Failure['fields']>({});
  const [problem, setProblem] = useState<string | null>(null);
  const [answered, setAnswered] = useState(0);
  const send = useOnce(async (values: Values) => {
    await onSubmit(values);
    setAnswered((count) => count + 1);
  });
  const show = (shown: Failure | null) => {
    setFaults(shown && form.current ? inWords(shown.fields, form.current) : {});
    setProblem(shown && form.current ? problemOf(shown, form.current) : null);
    if (shown && form.current) focusFirst(shown.fields, form.current);
  };
  // Renderings repeat the same refusal: move the focus only once. Another answer may be the
  // same refusal.
  const said = failure && JSON.stringify(failure);
  useLayoutEffect(() => show(failure), [said, answered]);
  const trySending = (sent: HTMLFormElement) => {
    const fields = doubtsIn(sent);
    const isDoubtful = Object.keys(fields).length > 0;
    show(isDoubtful ? { code: 'validation_error', message: '', fields } : null);
    if (!isDoubtful && !isBusy) void send(valuesOf(sent));
  };
  return (
    <Faults.Provider value={faults}>
      <form
        ref={form}
        class="form"
        noValidate
        onInput={(event) => draft?.keep(event.currentTarget, event.target)}
        onSubmit={(event) => {
          event.preventDefault();
          trySending(event.currentTarget);
        }}
      >
        <Drafted.Provider value={draft ?? null}>{children}</Drafted.Provider>
        {problem && (
          <p class="problem" role="alert">
            <Icon name="alert" />
            {problem}
          </p>
        )}
        <div class="actions">
          <button type="submit" aria-disabled={isBusy}>
            {isBusy ? t('oneMoment') : submit}
          </button>
          {beside}
        </div>
      </form>
    </Faults.Provider>
  );
}

const namesOf = ({ dataset }: HTMLElement): string[] => dataset.faults!.split(' ');
const placesIn = (form: HTMLFormElement) => [...form.querySelectorAll<HTMLElement>('[data-faults]')];

function focusFirst(fields: Failure['fields'], form: HTMLFormElement): void {
  const place = placesIn(form).find((each) => namesOf(each).some((name) => name in fields));
  place?.querySelector<HTMLElement>('input, select, textarea')?.focus();
}

/** An empty field gets a fixed message instead of the API's. */
function inWords(fields: Failure['fields'], form: HTMLFormElement): Failure['fields'] {
  const said = ([name, fault]: [string, string]): [string, string] => {
    const field = form.elements.namedItem(name);
    if (field instanceof HTMLSelectElement && field.value === '') return [name, t('chooseOne')];
    const isText =
      field instanceof HTMLTextAreaElement || (field instanceof HTMLInputElement && field.type !== 'hidden');
    return [name, isText && field.value.trim() === '' ? t('fillIn') : fault];
  };
  return Object.fromEntries(Object.entries(fields).map(said));
}

/** Does not repeat faults that fields show: the API's message counts them and names them
 *  as programs do. */
function problemOf({ message, fields }: Failure, form: HTMLFormElement): string {
  const faults = Object.entries(fields);
  if (faults.length === 0) return message;
  const shown = new Set(placesIn(form).flatMap(namesOf));
  const elsewhere = faults.flatMap(([name, fault]) => (shown.has(name) ? [] : [fault]));
  if (elsewhere.length > 0) return elsewhere.join(' ');
  return t('fieldsNeedAttention', { n: faults.length });
}

interface FieldProps {
  name: string;
  label: string;
  hint?: ComponentChildren;
  value?: string;
  type?: 'text' | 'search' | 'password' | 'date' | 'datetime-local' | 'number';
  /** Text of several lines. */
  isLong?: boolean;
  isOptional?: boolean;
  inputMode?: 'decimal' | 'numeric' | 'url';
  autoComplete?: string;
  placeholder?: string;
  suffix?: string;
  options?: readonly (readonly [value: string, label: string])[];
  onInput?: (value: string) => void;
  /** Further API fields whose faults this field shows. */
  alsoOf?: readonly string[];
}

/** The first fault of these API fields. */
function useFault(names: readonly string[]): string | undefined {
  const faults = useContext(Faults);
  return names.map((name) => faults[name]).find(Boolean);
}

export function Field(props: FieldProps) {
  const {
    name,
    label,
    hint,
    value: given,
    type = 'text',
    isLong,
    isOptional,
    suffix,
    options,
    onInput,
    alsoOf = [],
    ...rest
  } = props;
  const value = useContext(Drafted)?.first(name) ?? given;
  const id = useId();
  const names = [name, ...alsoOf];
  const fault = useFault(names);
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  const common = {
    id,
    name,
    defaultValue: value,
    ...(described ? { 'aria-describedby': described } : {}),
    ...(fault ? { 'aria-invalid': true } : {}),
    onInput: (event: { currentTarget: { value: string } }) => onInput?.(event.currentTarget.value),
  };
  return (
    <div class="field" data-faults={names.join(' ')}>
      <label for={id}>
        {label}
        {isOptional && <span class="optional"> {t('optional')}</span>}
      </label>
      <div class="entry">
        {options ? (
          <select {...common}>
            {options.map(([option, text]) => (
              <option key={option} value={option} selected={option === value}>
                {text}
              </option>
            ))}
          </select>
        ) : isLong ? (
          <textarea {...common} rows={4} />
        ) : (
          <input {...common} {...rest} type={type} data-unit={suffix} autoComplete={rest.autoComplete ?? 'off'} />
        )}
        {suffix && <span class="suffix">{suffix}</span>}
      </div>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {fault && (
        <p class="problem" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps {
  name: string;
  legend: string;
  type: 'radio' | 'checkbox';
  value: readonly string[];
  options: readonly { value: string; label: string; hint?: string }[];
  onInput?: (value: string) => void;
}

export function Choice({ name, legend, type, options, onInput, ...props }: ChoiceProps) {
  const value = useContext(Drafted)?.all()[name] ?? props.value;
  const id = useId();
  const fault = useFault([name]);
  return (
    <fieldset class="choice" data-faults={name}>
      <legend>{legend}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type={type}
            name={name}
            value={option.value}
            defaultChecked={value.includes(option.value)}
            onInput={() => onInput?.(option.value)}
            {...(fault ? { 'aria-invalid': true, 'aria-describedby': `${id}-fault` } : {})}
          />
          <span>
            {option.label}
            {option.hint && <span class="hint">{option.hint}</span>}
          </span>
        </label>
      ))}
      {fault && (
        <p class="problem" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </fieldset>
  );
}
