/** Sign-in with a passkey or an API key. The address stays, so that a user who signs in again continues where they were. */
import { useEffect, useState } from 'preact/hooks';
import { type Failure, signIn } from '../api.js';
import { useOnce } from '../once.js';
import { Field, Form } from '../parts/form.js';
import { signInWithPasskey } from '../passkey.js';

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
