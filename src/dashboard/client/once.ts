/** A second tap comes before the first one is drawn, so what is drawn cannot guard. */
import { useRef } from 'preact/hooks';

/** Runs `act` unless it is still running. */
export function useOnce<Given extends unknown[]>(
  act: (...given: Given) => unknown,
): (...given: Given) => Promise<void> {
  const isRunning = useRef(false);
  return async (...given) => {
    if (isRunning.current) return;
    isRunning.current = true;
    try {
      await act(...given);
    } finally {
      isRunning.current = false;
    }
  };
}
