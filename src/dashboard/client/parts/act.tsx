/** Controls that change something: buttons with a confirmation, switches that show the new state at
 *  once and revert when it is refused, and secrets that are shown once. */
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { failureOf, type ReadName, useSession, type WriteName } from '../api.js';
import { useOnce } from '../passkey.js';
import { t } from '../texts/texts.js';
import { Copy } from './bits.js';
import { Icon } from './icon.js';
import { say } from './toast.js';

/** Whether the signed-in user may call the procedure. */
export const useMay = (name: ReadName | WriteName): boolean => useSession().data?.may.includes(name) ?? false;

/** Whether the user may change most resources. */
export const useCanWrite = (): boolean => useMay('products.update');

/** A modal dialog: the browser keeps the focus inside and restores it afterwards. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface Mutation<Input> {
  mutateAsync: (input: Input) => Promise<unknown>;
  isPending: boolean;
}

interface AskProps<Input> {
  label: string;
  title: string;
  children: ComponentChildren;
  confirm: string;
  isDestructive?: boolean;
  write: Mutation<Input>;
  input: Input;
  /** Announced on success. */
  done: string;
  onDone?: (result: never) => void;
}

/** A button with a confirmation, which also shows a refusal. */
export function Ask<Input>(props: AskProps<Input>) {
  const { label, title, children, confirm, isDestructive = false, write, input, done, onDone } = props;
  const [isOpen, setOpen] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const close = () => {
    setOpen(false);
    setProblem(null);
  };
  const act = useOnce(async () => {
    setProblem(null);
    try {
      const result = await write.mutateAsync(input);
      close();
      say(done);
      onDone?.(result as never);
    } catch (error) {
      setProblem(failureOf(error).message);
    }
  });
  return (
    <>
      <button type="button" class={isDestructive ? 'plain bad' : 'plain'} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && (
        <Dialog title={title} onClose={close}>
          {children}
          {problem && (
            <p class="problem" role="alert">
              <Icon name="alert" />
              {problem}
            </p>
          )}
          <div class="actions">
            <button type="button" class="plain" onClick={close}>
              {t('cancel')}
            </button>
            <button
              type="button"
              class={isDestructive ? 'bad' : ''}
              aria-disabled={write.isPending}
              onClick={() => void act()}
            >
              {write.isPending ? t('oneMoment') : confirm}
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** A button that asks, deletes the shown resource and returns to its list.
 *  @param name of the resource, for the question and the announcement
 *  @param to path of the list */
export function Delete({
  label,
  name,
  id,
  write,
  to,
  children,
}: {
  label: string;
  name: string;
  id: string;
  write: Mutation<{ id: string }>;
  to: string;
  children: ComponentChildren;
}) {
  const [, navigate] = useLocation();
  return (
    <Ask
      label={label}
      title={t('deleteNameAsk', { name })}
      confirm={t('delete')}
      isDestructive
      write={write}
      input={{ id }}
      done={t('nameDeleted', { name })}
      onDone={() => navigate(to)}
    >
      {children}
    </Ask>
  );
}

/** A button without a confirmation. */
export function Act<Input>({
  label,
  write,
  input,
  done,
}: {
  label: string;
  write: Mutation<Input>;
  input: Input;
  done: (result: never) => string;
}) {
  const act = useOnce(async () => {
    try {
      say(done((await write.mutateAsync(input)) as never));
    } catch (error) {
      say(failureOf(error).message, { isBad: true });
    }
  });
  return (
    <button type="button" class="plain" aria-disabled={write.isPending} onClick={() => void act()}>
      {write.isPending ? t('oneMoment') : label}
    </button>
  );
}

interface ToggleProps {
  /** The name of the switch, for screen readers. */
  what: string;
  isOn: boolean;
  /** Stores the new state. */
  set: (isOn: boolean) => Promise<unknown>;
  on?: string;
  off?: string;
}

export function Toggle({ what, isOn, set, on = t('on'), off = t('off') }: ToggleProps) {
  const [wanted, setWanted] = useState<boolean | null>(null);
  const shown = wanted ?? isOn;
  const canWrite = useCanWrite();
  const change = useOnce(async () => {
    setWanted(!isOn);
    try {
      await set(!isOn);
    } catch (error) {
      say(failureOf(error).message, { isBad: true });
    }
    setWanted(null);
  });
  if (!canWrite) return <span>{shown ? on : off}</span>;
  return (
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked={shown}
      aria-label={what}
      onClick={() => void change()}
    >
      <span class="track" />
      <span aria-hidden="true">{shown ? on : off}</span>
    </button>
  );
}

/** A secret that the API returns only once. @param secret undefined where the answer that had it
 *  was lost, and a repetition found the thing made */
export function Once({
  title,
  secret,
  what,
  remedy,
  children,
  onClose,
}: {
  title: string;
  secret: string | undefined;
  what: string;
  /** How to get another one. */
  remedy: string;
  children: ComponentChildren;
  onClose: () => void;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      {secret === undefined ? (
        <p class="callout">{t('madeButConnectionBroke', { what, remedy })}</p>
      ) : (
        <>
          {children}
          <p class="once">
            <code>{secret}</code>
          </p>
        </>
      )}
      <div class="actions">
        {secret !== undefined && <Copy text={secret} what={what} label={t('copy')} />}
        <button type="button" onClick={onClose}>
          {secret === undefined ? t('close') : t('iSaved')}
        </button>
      </div>
    </Dialog>
  );
}
