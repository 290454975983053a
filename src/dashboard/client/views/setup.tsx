/** The page of the setup: who holds the code, which is in the hash of its address, makes the
 *  account and a passkey in one visit. It may be left and opened again at any moment. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { WRONG_CODE } from '../../../../contracts/setup-code.js';
import { type Failure, renewSession, useWrite } from '../api.js';
import { Once } from '../parts/act.js';
import { Field, Form, type Values } from '../parts/form.js';
import { addPasskey, type Made, setUp, useOnce } from '../passkey.js';
import { t } from '../texts/texts.js';

/** Browsers write some characters of a hash otherwise. */
function codeInAddress(): string {
  const hash = location.hash.slice(1);
  try {
    return decodeURIComponent(hash.replace(/%(?!22|3C|3E|60|[89A-F][0-9A-F])/gi, '%25'));
  } catch {
    return hash;
  }
}

/** Browsers make passkeys over TLS and on localhost, at a name. */
const canMakePasskey = (): boolean =>
  isSecureContext && 'PublicKeyCredential' in globalThis && !/^[\d.]+$|^\[/.test(location.hostname);

type Entry = Parameters<typeof setUp>[0];

export function Setup() {
  const [form, setForm] = useState<Entry | null>(null);
  const [made, setMade] = useState<Made | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [, navigate] = useLocation();
  useEffect(() => {
    document.title = `${t('setUp')} · stellar-collect`;
  }, []);
  const send = async (given: Entry) => {
    setBusy(true);
    const answer = await setUp(given);
    setBusy(false);
    setForm(given);
    if ('failure' in answer) return setFailure(answer.failure);
    setFailure(null);
    setMade(answer.data);
  };
  const enter = () => {
    renewSession();
    navigate('/', { replace: true });
  };
  if (made?.apiKey) return <KeyShown apiKey={made.apiKey} onClose={enter} />;
  if (made && form)
    return (
      <NewPasskey
        made={made}
        failure={failure}
        onEnter={() => navigate('/', { replace: true })}
        onKey={() => send({ ...form, passkeys: false })}
      />
    );
  const submit = (values: Values) =>
    send({
      code: values.text('code') || codeInAddress(),
      accountName: values.text('accountName'),
      userName: values.text('userName'),
      email: values.orNull('email'),
      passkeys: canMakePasskey(),
    });
  // A page of another origin is refused by the same code.
  const isWrong = failure?.message.includes(WRONG_CODE) ?? false;
  return (
    <Frame title={t('setUp')}>
      <p>{t('setUpWelcome')}</p>
      <Form
        submit={t('setUp')}
        isBusy={isBusy}
        failure={failure && isWrong ? { ...failure, fields: { code: t('setUpCodeWrong') } } : failure}
        onSubmit={submit}
      >
        {(isWrong || codeInAddress() === '') && <Field name="code" label={t('setUpCode')} hint={t('setUpCodeHint')} />}
        <Field name="accountName" label={t('setUpShop')} autoComplete="organization" />
        <Field name="userName" label={t('setUpYou')} autoComplete="name" />
        <Field name="email" label={t('setUpEmail')} isOptional autoComplete="email" hint={t('setUpEmailHint')} />
      </Form>
      {failure?.code === 'not_found' && (
        <p>
          <a href="./">{t('signIn')}</a>
        </p>
      )}
    </Frame>
  );
}

const Frame = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <main class="sign-in">
    <h1>{title}</h1>
    {children}
  </main>
);

const KeyShown = ({ apiKey, onClose }: { apiKey: string; onClose: () => void }) => (
  <Frame title={t('setUp')}>
    <Once title={t('setUpKey')} secret={apiKey} what={t('theKey')} remedy="" onClose={onClose}>
      <p>
        {t('setUpKeyWhy')} {t('notShownAgainSave')}
      </p>
    </Once>
  </Frame>
);

interface NewPasskeyProps {
  made: Made;
  /** Why no key could be made instead. */
  failure: Failure | null;
  onEnter: () => void;
  onKey: () => Promise<unknown>;
}

function NewPasskey({ made, failure, onEnter, onKey }: NewPasskeyProps) {
  const invite = useWrite('users.invite');
  const [refused, setRefused] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  const make = useOnce(async () => {
    setBusy(true);
    const fault = await addPasskey(() => invite.mutateAsync({ id: made.userId }));
    setBusy(false);
    setRefused(fault);
    if (!fault) onEnter();
  });
  const instead = useOnce(async () => {
    setBusy(true);
    await onKey();
    setBusy(false);
  });
  const shown = failure ?? refused;
  return (
    <Frame title={t('setUpPasskey')}>
      <p>{t('deviceCreatesPasskeyUnlock')}</p>
      {shown && (
        <p class="problem" role="alert">
          {shown.message}
        </p>
      )}
      <div class="actions">
        <button type="button" aria-disabled={isBusy} onClick={() => void make()}>
          {isBusy ? t('oneMoment') : t('createPasskeySign')}
        </button>
        {refused && (
          <button type="button" class="quiet" aria-disabled={isBusy} onClick={() => void instead()}>
            {t('setUpKeyInstead')}
          </button>
        )}
      </div>
    </Frame>
  );
}
