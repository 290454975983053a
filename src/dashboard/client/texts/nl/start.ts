/** Dutch: the setup. */
import type { start as english } from '../en/start.js';
import type { Like } from '../texts.js';

export const start: Like<typeof english> = {
  setUp: 'Instellen',
  setUpWelcome: 'Welkom. Hiermee maakt u het account dat betalingen ontvangt, en wordt u de eigenaar ervan.',
  setUpCode: 'Code',
  setUpCodeHint: 'De start van de dienst toont hem, achter de # van de link.',
  setUpShop: 'Naam van uw winkel',
  setUpYou: 'Uw naam',
  setUpEmail: 'E-mailadres',
  setUpEmailHint: 'Daar wordt gemeld wat belangrijk is voor de veiligheid.',
  setUpKey: 'Uw API-sleutel',
  setUpKeyWhy:
    'Deze browser kan hier geen passkey maken: daarvoor is https of localhost nodig. Meld u in plaats daarvan aan met deze sleutel.',
  setUpPasskey: 'Uw passkey',
  setUpKeyInstead: 'In plaats daarvan een API-sleutel gebruiken',
};
