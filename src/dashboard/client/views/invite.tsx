/** The page of an invitation: it creates the passkey that signs its user in from then on. */
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import type { Failure } from '../api.js';
import { useOnce } from '../once.js';
import { Loading } from '../parts/page.js';
import { acceptInvitation, type Invited, invitedBy } from '../passkey.js';
import { ROLE } from '../words.js';

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
