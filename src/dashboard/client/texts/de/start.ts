/** German: the setup. */
import type { start as english } from '../en/start.js';
import type { Like } from '../texts.js';

export const start: Like<typeof english> = {
  setUp: 'Einrichten',
  setUpWelcome: 'Willkommen. Hier entsteht das Konto, das Zahlungen erhält, und Sie werden sein Inhaber.',
  setUpCode: 'Code',
  setUpCodeHint: 'Der Start des Dienstes gibt ihn aus, hinter dem # des Links.',
  setUpShop: 'Name Ihres Shops',
  setUpYou: 'Ihr Name',
  setUpEmail: 'E-Mail-Adresse',
  setUpEmailHint: 'Dorthin wird gemeldet, was für die Sicherheit wichtig ist.',
  setUpKey: 'Ihr API-Schlüssel',
  setUpKeyWhy:
    'Dieser Browser kann hier keinen Passkey erstellen: Dazu braucht es https oder localhost. Sie melden sich stattdessen mit diesem Schlüssel an.',
  setUpPasskey: 'Ihr Passkey',
  setUpKeyInstead: 'Stattdessen einen API-Schlüssel verwenden',
};
