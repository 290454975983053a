/** Sign-in with a passkey or an API key. The address stays, so that a user who signs in again
 *  continues where they were. */
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { type Failure, signIn } from '../api.js';
import { Field, Form } from '../parts/form.js';
import { Loading } from '../parts/page.js';
import { rich } from '../parts/rich.js';
import { acceptInvitation, type Invited, invitedBy, signInWithPasskey, useOnce } from '../passkey.js';
import { t } from '../texts/texts.js';
import { roleSentence, roleWord } from '../words.js';

// The page of an invitation: it creates the passkey that signs its user in from then on.

export function Invite({ token }: { token: string }) {
  const [invited, setInvited] = useState<Invited | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [, navigate] = useLocation();
  const ask = async () => {
    const answer = await invitedBy(token);
    if ('failure' in answer) return setFailure(answer.failure);
    setInvited(answer.data);
    return answer.data;
  };
  useEffect(() => {
    document.title = `${t('invitation')} · stellar-collect`;
    void ask();
  }, []);
  const accept = useOnce(async () => {
    setBusy(true);
    setFailure(null);
    // A challenge can be answered only once, so a retry needs a new one.
    const fresh = failure ? await ask() : invited;
    const refused = fresh ? await acceptInvitation(token, fresh) : null;
    setBusy(false);
    if (refused) setFailure(refused);
    else if (fresh) navigate('/', { replace: true });
  });
  return (
    <main class="sign-in">
      <h1>{invited ? t('welcomeName', { name: invited.name }) : t('invitation')}</h1>
      {!invited && !failure && <Loading />}
      {invited && (
        <>
          <p>
            {t('invitedTo', { account: invited.account, role: roleWord(invited.role) })} {roleSentence(invited.role)}
          </p>
          <p>{t('deviceCreatesPasskeyUnlock')}</p>
          <div class="actions">
            <button type="button" aria-disabled={isBusy} onClick={() => void accept()}>
              {isBusy ? t('oneMoment') : t('createPasskeySign')}
            </button>
          </div>
        </>
      )}
      {failure && (
        <p class="problem" role="alert">
          {failure.message}
        </p>
      )}
    </main>
  );
}

export function SignIn() {
  const [failure, setFailure] = useState<Failure | null>(null);
  const [passkeyFailure, setPasskeyFailure] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    document.title = `${t('signIn')} · stellar-collect`;
  }, []);
  const submit = async (key: string) => {
    setBusy(true);
    const refused = await signIn(key);
    setBusy(false);
    // Shown at the field, where the user corrects it.
    setFailure(
      refused && (refused.code === 'unauthorized' ? { ...refused, fields: { key: refused.message } } : refused),
    );
  };
  const usePasskey = useOnce(async () => {
    setBusy(true);
    setPasskeyFailure(await signInWithPasskey());
    setBusy(false);
  });
  return (
    <main class="sign-in">
      <h1>{t('signIn')}</h1>
      <p>{t('seePaymentsDecideWhat')}</p>
      <div class="actions">
        <button type="button" aria-disabled={isBusy} onClick={() => void usePasskey()}>
          {t('signPasskey')}
        </button>
      </div>
      {passkeyFailure && (
        <p class="problem" role="alert">
          {passkeyFailure.message}
        </p>
      )}
      <p>{t('orApiKey')}</p>
      <Form submit={t('signIn')} isBusy={isBusy} failure={failure} onSubmit={(values) => submit(values.text('key'))}>
        <Field
          name="key"
          label={t('apiKey')}
          type="password"
          autoComplete="current-password"
          placeholder="sk_…"
          hint={t('sessionLasts12Hours')}
        />
      </Form>
      <details>
        <summary>{t('whereGetKeyAsk')}</summary>
        <p>{rich('keyFromOperator', { command: <code>npm run cli -- key create --account ID --name NAME</code> })}</p>
      </details>
    </main>
  );
}
