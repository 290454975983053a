/** French: the setup. */
import type { start as english } from '../en/start.js';
import type { Like } from '../texts.js';

export const start: Like<typeof english> = {
  setUp: 'Installation',
  setUpWelcome: 'Bienvenue. Ceci crée le compte qui reçoit les paiements, et vous en fait le propriétaire.',
  setUpCode: 'Code',
  setUpCodeHint: 'Le démarrage du service l’affiche, derrière le # du lien.',
  setUpShop: 'Nom de votre boutique',
  setUpYou: 'Votre nom',
  setUpEmail: 'Adresse e-mail',
  setUpEmailHint: 'Les changements importants pour la sécurité y sont signalés.',
  setUpKey: 'Votre clé API',
  setUpKeyWhy:
    'Ce navigateur ne peut pas créer de clé d’accès ici : il faut https ou localhost. Connectez-vous avec cette clé à la place.',
  setUpPasskey: 'Votre clé d’accès',
  setUpKeyInstead: 'Utiliser plutôt une clé API',
};
