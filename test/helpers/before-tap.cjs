/** Loaded before tap in every test file, to turn off two of its hooks. Tap tracks every module, also in programs that tests start, for a coverage that is
 *  switched off, and every promise, to assign uncaught errors to tests. That doubles the cost of starting a program, and takes up to a fifth of the CPU of
 *  tested code; an uncaught error fails the file all the same. */
'use strict';

const isTaps = (name) => String(name).includes('@tapjs/processinfo');

const modules = require('node:module');
const { register } = modules;
modules.register = (specifier, ...others) => (isTaps(specifier) ? undefined : register(specifier, ...others));
process.env.__TAPJS_PROCESSINFO_TESTING_NO_REGISTER__ = String(process.pid);

require('node:async_hooks').createHook = () => {
  const hook = { enable: () => hook, disable: () => hook };
  return hook;
};

const options = (process.env.NODE_OPTIONS ?? '').split(' ').filter((option) => !isTaps(option));
if (options.length > 0) process.env.NODE_OPTIONS = options.join(' ');
else delete process.env.NODE_OPTIONS;
