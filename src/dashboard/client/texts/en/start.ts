/** English: the setup. */
export const start = {
  setUp: 'Set up',
  setUpWelcome: 'Welcome. This makes the account that receives payments, and you its owner.',
  setUpCode: 'Code',
  setUpCodeHint: 'The start of the service prints it, behind the # of the link.',
  setUpShop: 'Name of your shop',
  setUpYou: 'Your name',
  setUpEmail: 'E-mail address',
  setUpEmailHint: 'Changes that matter for security are told there.',
  setUpKey: 'Your API key',
  setUpKeyWhy:
    'This browser can make no passkey here: that needs https, or localhost. You sign in with this key instead.',
  setUpPasskey: 'Your passkey',
  setUpKeyInstead: 'Use an API key instead',
} as const;
