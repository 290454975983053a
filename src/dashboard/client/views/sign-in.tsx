/** Sign-in with a passkey or an API key. The address stays, so that a user who signs in again continues where they were. */
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { type Failure, signIn } from '../api.js';
import { Field, Form } from '../parts/form.js';
import { Loading } from '../parts/page.js';
import { acceptInvitation, type Invited, invitedBy, signInWithPasskey, useOnce } from '../passkey.js';
import { ROLE } from '../words.js';

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
    document.title = 'Invitation · stellar-collect';
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
      <h1>{invited ? `Welcome, ${invited.name}` : 'Invitation'}</h1>
      {!invited && !failure && <Loading />}
      {invited && (
        <>
          <p>
            You are invited to {invited.account} as {ROLE[invited.role as keyof typeof ROLE].label.toLowerCase()}.{' '}
            {ROLE[invited.role as keyof typeof ROLE].sentence}
          </p>
          <p>
            Your device creates a passkey, which you unlock the same way as the device. There is no password to remember
            or lose.
          </p>
          <div class="actions">
            <button type="button" aria-disabled={isBusy} onClick={() => void accept()}>
              {isBusy ? 'One moment…' : 'Create a passkey and sign in'}
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
    document.title = 'Sign in · stellar-collect';
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
      <h1>Sign in</h1>
      <p>See payments, decide what needs a decision, and create payment links.</p>
      <div class="actions">
        <button type="button" aria-disabled={isBusy} onClick={() => void usePasskey()}>
          Sign in with a passkey
        </button>
      </div>
      {passkeyFailure && (
        <p class="problem" role="alert">
          {passkeyFailure.message}
        </p>
      )}
      <p>Or with an API key:</p>
      <Form submit="Sign in" isBusy={isBusy} failure={failure} onSubmit={(values) => submit(values.text('key'))}>
        <Field
          name="key"
          label="API key"
          type="password"
          autoComplete="current-password"
          placeholder="sk_…"
          hint="The session lasts 12 hours. This page does not keep the key."
        />
      </Form>
      <details>
        <summary>Where do I get a key?</summary>
        <p>
          The service printed one on its first start. Its operator can create another with{' '}
          <code>npm run cli -- key create --account ID --name NAME</code>. Once signed in, you can create keys yourself.
        </p>
      </details>
    </main>
  );
}
