/** What a person changes in a form that shows a resource: only that is sent. Others may have
 *  changed the resource since the form was drawn, and what they changed stays. */
import { useRef } from 'preact/hooks';
import { changesIn } from '../changed.js';

/** The resource as the form was first drawn from it, and remains, so that what is not touched is
 *  told from what is.
 *  @param now null before it is made
 *  @param send stores the changes */
export function useChanges<Resource extends object, Changes extends object, Saved>(
  now: Resource | null,
  send: (changes: Partial<Changes>) => Promise<Saved>,
) {
  const first = useRef(now).current;
  const stored = useRef<object>(now ?? {});
  return {
    first,
    async save(filled: Changes): Promise<Saved> {
      const changes = changesIn(filled, stored.current);
      const saved = await send(changes);
      stored.current = { ...stored.current, ...changes };
      return saved;
    },
  };
}
