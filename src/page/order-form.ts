/** The form of an order link: what it asks, and what a payer sent, read and checked. Faults stand
 *  at their fields, and what was typed stays. */
import type { FieldError } from '../../contracts/errors.js';
import { MAX_ADDRESS, MAX_ANSWER, type OrderFormField } from '../../contracts/payment-links.js';
import { emailInput } from '../../contracts/primitives.js';
import { withMinorDigits } from '../domain/money-text.js';
import { canonicalPercent } from '../domain/order.js';
import { readAlike, readTyped } from '../domain/typed-amount.js';
import type { OrderSent } from '../selling/index.js';
import { icon, money, worth } from './document.js';
import { judgeEntered } from './entered-amount.js';
import { type Html, html } from './html.js';
import type { PageLink, PageOrder } from './types.js';
import { localeOf, type Words } from './words.js';

/** A body as it came: of a form each value is a text or a list of texts, of JSON it may
 *  be anything. */
export type OrderBody = Readonly<Record<string, unknown>>;

/** The form as it is shown. */
export interface FilledForm {
  /** What was typed, by the names of the inputs. */
  typed: ReadonlyMap<string, string>;
  faults: readonly FieldError[];
}

export const EMPTY_FORM: FilledForm = { typed: new Map(), faults: [] };

/** More than any answer may have, so that it is shown again when it is too long. */
const MOST_SHOWN = 1000;
const LINE_END = /\r\n?/g;

const inputOf = ({ key }: OrderFormField): string => `f_${key}`;
const typedIn = ({ typed }: FilledForm, name: string): string => typed.get(name) ?? '';
const faultAt = ({ faults }: FilledForm, name: string): string | null =>
  faults.find(({ path }) => path === name)?.message ?? null;

/** @param isProgram what the form does not ask for is a fault then; other pages' fields and hidden
 *  ones are not */
export function readOrder(
  words: Words,
  link: PageLink & { order: PageOrder },
  body: OrderBody,
  isProgram: boolean,
): FilledForm & { sent: OrderSent } {
  const { form } = link.order;
  const typed = new Map<string, string>();
  const faults: FieldError[] = [];
  // The first one of a field says enough.
  const fault = (path: string, message: string, code: string) => {
    if (!faults.some((each) => each.path === path)) faults.push({ path, message, code });
  };
  const take = (name: string): string => {
    const text = textOf(Object.hasOwn(body, name) ? body[name] : undefined);
    if (text === null || !text.isWellFormed() || text.includes('\0')) fault(name, words.say('badText'), 'invalid_type');
    const taken = (text ?? '').toWellFormed().replaceAll('\0', '').replace(LINE_END, '\n').trim();
    typed.set(name, [...taken].slice(0, MOST_SHOWN).join(''));
    return taken;
  };
  const answers: [string, string][] = [];
  for (const field of form.fields) {
    const answer = take(inputOf(field));
    const problem = answer === '' ? field.required && needed(words, field) : problemOf(words, field, answer);
    if (problem) fault(inputOf(field), problem, answer === '' ? 'required' : 'invalid_format');
    if (answer !== '') answers.push([field.key, answer]);
  }
  const sent = {
    answers: Object.fromEntries(answers),
    quantity: quantityOf(words, form.quantity, take('quantity'), fault),
    amount: amountOf(words, link, take('amount'), fault),
    tipPercent: tipOf(words, form.tipPercents, take('tipPercent'), fault),
    couponCode: couponOf(words, form.coupons, take('couponCode'), fault),
  };
  if (isProgram)
    for (const name of Object.keys(body)
      .filter((name) => !typed.has(name))
      .slice(0, MOST_STRAYS))
      fault(name, 'Unknown field.', 'unrecognized_key');
  return { sent, typed, faults };
}

const MOST_STRAYS = 50;

/** Null for what no input has. The last of several values that says something: what was typed,
 *  where there are suggestions too. */
function textOf(value: unknown): string | null {
  if (value === undefined || value === null || value === false) return '';
  if (value === true) return 'on';
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : null;
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'string')) return null;
  return value.findLast((each) => each.trim() !== '') ?? '';
}

const mostOf = (type: OrderFormField['type']): number => (type === 'address' ? MAX_ADDRESS : MAX_ANSWER);

const needed = ({ say }: Words, { type }: OrderFormField): string =>
  say(type === 'checkbox' ? 'boxNeeded' : type === 'select' ? 'choiceNeeded' : 'fieldNeeded');

function problemOf({ say, number }: Words, { type, options }: OrderFormField, answer: string): string | null {
  if (type === 'select') return options!.includes(answer) ? null : say('choiceNeeded');
  if (type === 'checkbox') return answer === 'on' ? null : say('boxNeeded');
  const most = mostOf(type);
  if ([...answer].length > most) return say('tooLong', { n: number(most) });
  if (type === 'email' && !emailInput.safeParse(answer).success) return say('notEmail', { example: 'ana@example.org' });
  if (type === 'phone' && (answer.match(/\p{Nd}/gu) ?? []).length < 3) return say('notPhone');
  return null;
}

type Fault = (path: string, message: string, code: string) => void;

function quantityOf(words: Words, asked: PageOrder['form']['quantity'], typed: string, fault: Fault): number | null {
  const { min, max } = asked ?? { min: 1, max: 1 };
  if (typed === '') return asked ? min : null;
  const read = readTyped(typed, { locale: localeOf(words.language), unit: '×' });
  const text = read.state === 'ambiguous' ? read.whole : read.state === 'number' ? read.amount : '';
  const quantity = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (quantity >= min && quantity <= max) return asked ? quantity : null;
  fault('quantity', words.say('quantityRange', { min: words.number(min), max: words.number(max) }), 'invalid_format');
  return null;
}

function amountOf(words: Words, { product, priced }: PageLink, typed: string, fault: Fault): string | null {
  if (product.priceType === 'FIXED') {
    if (typed !== '') fault('amount', words.say('priceIsFixed'), 'not_allowed');
    return null;
  }
  const entered = judgeEntered(words, typed, product, priced);
  if (entered.state === 'valid') return entered.amount;
  if (entered.state === 'none') fault('amount', words.say('fieldNeeded'), 'required');
  else fault('amount', entered.problem, 'invalid_format');
  return null;
}

function tipOf({ say }: Words, offered: readonly string[], typed: string, fault: Fault): string | null {
  if (typed === '' || typed === '0') return null;
  const percent = /^\d{1,3}(\.\d{1,7})?$/.test(typed) ? canonicalPercent(typed) : '';
  if (offered.includes(percent)) return percent;
  fault('tipPercent', say('tipUnknown'), 'not_allowed');
  return null;
}

function couponOf({ say }: Words, isAsked: boolean, typed: string, fault: Fault): string | null {
  if (typed === '') return null;
  if (isAsked && /^[A-Za-z0-9-]{3,40}$/.test(typed)) return typed;
  fault('couponCode', say('couponUnknown'), 'not_found');
  return null;
}

// The form as markup. It works without scripts.

/** @param address of the page */
export function orderForm(
  words: Words,
  link: PageLink & { order: PageOrder },
  filled: FilledForm,
  address: string,
): Html {
  const { say } = words;
  const { form } = link.order;
  const hasFaults = filled.faults.length > 0;
  // One that stands at no field of this form.
  const shown = new Set([...form.fields.map(inputOf), 'quantity', 'amount', 'tipPercent', 'couponCode']);
  const general = filled.faults.find(({ path }) => !shown.has(path))?.message ?? say('faultsInForm');
  return html`
<form id="order" class="order-form" action="${words.here(`${address}/orders`)}" method="post" novalidate>
  <div class="problem" role="alert" id="order-problem">${hasFaults && html`${icon('warning')}<span>${general}</span>`}</div>
  ${form.fields.map((field) => fieldOf(words, field, filled))}
  ${link.product.priceType === 'CUSTOM' && amountField(words, link, filled)}
  ${
    form.quantity &&
    textField(words, filled, 'quantity', {
      label: say('quantity'),
      value: typedIn(filled, 'quantity') || String(form.quantity.min),
      attributes: html` inputmode="numeric" autocomplete="off" maxlength="20"`,
    })
  }
  ${form.tipPercents.length > 0 && tipField(words, form.tipPercents, filled)}
  ${form.coupons && textField(words, filled, 'couponCode', { label: say('coupon'), attributes: html` autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="40" dir="ltr"` })}
  <button>${say('orderNow')}</button>
</form>`;
}

const problem = (filled: FilledForm, name: string): Html => {
  const text = faultAt(filled, name);
  return html`<p class="problem" id="${name}-problem">${text !== null && html`${icon('warning')}<span>${text}</span>`}</p>`;
};

const described = (filled: FilledForm, name: string): Html =>
  html` aria-describedby="${name}-problem"${faultAt(filled, name) !== null && html` aria-invalid="true"`}`;

interface TextField {
  label: string;
  value?: string;
  isOptional?: boolean;
  attributes: Html;
}

const textField = (
  words: Words,
  filled: FilledForm,
  name: string,
  { label, value, isOptional, attributes }: TextField,
): Html => html`
<div class="field"><label for="${name}"><bdi>${label}</bdi>${isOptional && optional(words)}</label>
<input id="${name}" name="${name}" value="${value ?? typedIn(filled, name)}"${attributes}${described(filled, name)}>
${problem(filled, name)}</div>`;

const optional = ({ say }: Words): Html => html` <span class="least">${say('optional')}</span>`;

const INPUTS = {
  text: html` dir="auto"`,
  email: html` inputmode="email" autocomplete="email" autocapitalize="none" spellcheck="false" dir="ltr"`,
  phone: html` type="tel" autocomplete="tel" dir="ltr"`,
} as const;

function fieldOf(words: Words, field: OrderFormField, filled: FilledForm): Html {
  const { key, label, type, required, options } = field;
  const name = inputOf(field);
  const needs = required && html` required`;
  const head = html`<label for="${name}"><bdi>${label}</bdi>${!required && optional(words)}</label>`;
  if (type === 'checkbox') {
    const isTicked = typedIn(filled, name) === 'on';
    return html`
<div class="field"><label class="tick"><input type="checkbox" id="${name}" name="${name}" value="on"${isTicked && html` checked`}${needs}${described(filled, name)}><span><bdi>${label}</bdi></span></label>
${problem(filled, name)}</div>`;
  }
  if (type === 'select') {
    const chosen = typedIn(filled, name);
    return html`
<div class="field">${head}
<select id="${name}" name="${name}"${needs}${described(filled, name)}><option value="">${words.say('choose')}</option>${options!.map((option) => html`<option value="${option}"${option === chosen && html` selected`}>${option}</option>`)}</select>
${problem(filled, name)}</div>`;
  }
  if (type === 'address')
    return html`
<div class="field">${head}
<textarea id="${name}" name="${name}" rows="3" autocomplete="street-address" dir="auto"${atMost(type)}${needs}${described(filled, name)}>
${typedIn(filled, name)}</textarea>
${problem(filled, name)}</div>`;
  const attributes = html`${INPUTS[type]}${key === 'name' && html` autocomplete="name"`}${atMost(type)}${needs}`;
  return textField(words, filled, name, { label, isOptional: !required, attributes });
}

/** What the body of a form has room for. Browsers count UTF-16 units: a character may be two. */
const atMost = (type: OrderFormField['type']): Html => html` maxlength="${2 * mostOf(type)}"`;

/** Suggestions, and a field to type another amount in. */
function amountField(words: Words, link: PageLink & { order: PageOrder }, filled: FilledForm): Html {
  const { product, priced, order } = link;
  const unit = priced?.currency ?? product.assetCode;
  const spelled = (amount: string) => readAlike(priced ? withMinorDigits(amount, priced.currency) : amount);
  const typed = typedIn(filled, 'amount');
  const suggested = order.form.suggestedAmounts;
  const isSuggested = suggested.some((amount) => spelled(amount) === typed);
  return html`
<fieldset class="field"><legend>${words.say('amountIn', { code: unit })}</legend>
${
  suggested.length > 0 &&
  html`<div class="choices">${suggested.map((amount) => choice('amount', spelled(amount), spelled(amount) === typed, priced ? worth(words, amount, priced.currency) : money(amount, product.assetCode)))}${choice('amount', '', !isSuggested, html`${words.say('otherAmount')}`)}</div>`
}
<input id="amount" name="amount" value="${isSuggested ? '' : typed}" aria-label="${words.say('amountIn', { code: unit })}" inputmode="decimal" autocomplete="off" spellcheck="false" maxlength="40"${described(filled, 'amount')}>
${problem(filled, 'amount')}</fieldset>`;
}

function tipField(words: Words, percents: readonly string[], filled: FilledForm): Html {
  const typed = typedIn(filled, 'tipPercent');
  return html`
<fieldset class="field"${described(filled, 'tipPercent')}><legend>${words.say('tip')}</legend>
<div class="choices">${choice('tipPercent', '', !percents.includes(typed), html`${words.say('noTip')}`)}${percents.map((percent) => choice('tipPercent', percent, percent === typed, html`${words.percent(percent)}`))}</div>
${problem(filled, 'tipPercent')}</fieldset>`;
}

const choice = (name: string, value: string, isChosen: boolean, label: Html): Html =>
  html`<label><input type="radio" name="${name}" value="${value}"${isChosen && html` checked`}><span>${label}</span></label>`;
