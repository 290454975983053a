/** Italian: the setup. */
import type { start as english } from '../en/start.js';
import type { Like } from '../texts.js';

export const start: Like<typeof english> = {
  setUp: 'Configurazione',
  setUpWelcome: 'Benvenuto. Qui si crea l’account che riceve i pagamenti, e tu ne diventi il proprietario.',
  setUpCode: 'Codice',
  setUpCodeHint: 'L’avvio del servizio lo mostra, dopo il # del link.',
  setUpShop: 'Nome del tuo negozio',
  setUpYou: 'Il tuo nome',
  setUpEmail: 'Indirizzo e-mail',
  setUpEmailHint: 'Lì vengono comunicati i cambiamenti importanti per la sicurezza.',
  setUpKey: 'La tua chiave API',
  setUpKeyWhy:
    'Questo browser non può creare qui una passkey: servono https o localhost. Accedi invece con questa chiave.',
  setUpPasskey: 'La tua passkey',
  setUpKeyInstead: 'Usa invece una chiave API',
};
