/** How the command line is called. @param script that the process runs: installed as a package, the
 *  command has a name of its own */
export const commandName = (script = ''): string =>
  /main\.[jt]s$/.test(script) ? 'npm run cli --' : 'stellar-collect';
