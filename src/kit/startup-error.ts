/** A fault that the operator must mend before the service can run. Its message is one line; main
 *  prints it and exits with code 1. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}
