# SPDX-License-Identifier: Apache-2.0
# What Debian wants of a package beside the installed files. cpack runs it between installing and packing.
file(GLOB roots ${CPACK_TEMPORARY_DIRECTORY}/*/usr)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH, where it is set
foreach(root IN LISTS roots)
  set(name stowage)
  if(EXISTS ${root}/include)
    set(name libstowage-dev)
  endif()
  set(doc ${root}/share/doc/${name})
  file(WRITE ${doc}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: stowage

Files: *
Copyright: The contributors of Stowage
License: Apache-2.0

License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")
  file(WRITE ${doc}/changelog "stowage (${CPACK_PACKAGE_VERSION}) stable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  # Where Debian's zsh looks.
  if(EXISTS ${root}/share/zsh/site-functions)
    file(RENAME ${root}/share/zsh/site-functions ${root}/share/zsh/vendor-completions)
  endif()
  file(GLOB pages ${root}/share/man/man1/*.1)
  execute_process(COMMAND gzip -9n ${doc}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB_RECURSE written ${doc}/*)
  file(CHMOD ${written} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endforeach()
