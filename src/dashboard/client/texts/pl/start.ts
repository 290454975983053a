/** Polish: the setup. */
import type { start as english } from '../en/start.js';
import type { Like } from '../texts.js';

export const start: Like<typeof english> = {
  setUp: 'Konfiguracja',
  setUpWelcome: 'Witamy. Tu powstaje konto, które przyjmuje płatności, a Ty zostajesz jego właścicielem.',
  setUpCode: 'Kod',
  setUpCodeHint: 'Uruchomienie usługi wypisuje go za znakiem # w linku.',
  setUpShop: 'Nazwa sklepu',
  setUpYou: 'Imię i nazwisko',
  setUpEmail: 'Adres e-mail',
  setUpEmailHint: 'Tam trafiają wiadomości o zmianach ważnych dla bezpieczeństwa.',
  setUpKey: 'Klucz API',
  setUpKeyWhy:
    'Ta przeglądarka nie może tu utworzyć klucza dostępu: potrzeba https lub localhost. Zamiast tego zaloguj się tym kluczem.',
  setUpPasskey: 'Klucz dostępu',
  setUpKeyInstead: 'Użyj zamiast tego klucza API',
};
